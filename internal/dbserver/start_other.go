//go:build !unix

package dbserver

import (
	"context"
	"fmt"
)

func start(context.Context, kind, Config) (*Server, error) {
	return nil, fmt.Errorf("%w: temporary servers need Unix", ErrNotInstalled)
}
