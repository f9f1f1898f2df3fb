//go:build !unix

package server

import (
	"context"
	"fmt"
)

type (
	postgres struct{}
	mariadb  struct{}
)

func start(context.Context, any) (*Server, error) {
	return nil, fmt.Errorf("%w: temporary servers need Unix", ErrNotInstalled)
}
