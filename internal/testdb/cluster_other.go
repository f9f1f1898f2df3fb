//go:build !unix

package testdb

import "errors"

func startCluster() (string, error) {
	return "", errors.New("a throwaway PostgreSQL needs Unix")
}

// Stop does nothing: this system has no throwaway clusters.
func Stop() {}
