//go:build !unix

package testdb

import "errors"

func startCluster() (string, error) {
	return "", errors.New("a throwaway PostgreSQL needs Unix")
}

// Stop does nothing on this system, where no throwaway cluster is ever started.
func Stop() {}
