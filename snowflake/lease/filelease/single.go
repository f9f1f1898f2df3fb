package filelease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/pause"
)

// acquireSingle takes the worker of a state file.
func (f *Store) acquireSingle(ctx context.Context, r lease.Request) (lease.Grant, error) {
	row := f.row("", 0)
	s, ok, err := row.read() // a wrong request is reported before a held worker
	if err == nil {
		err = f.checkSingle(r, s, ok)
	}
	if err != nil {
		return lease.Grant{}, err
	}
	if grant, ok, err := f.owners.again(r); ok || err != nil {
		return grant, err
	}
	lock, err := f.lockSingle(ctx, r)
	if err != nil {
		return lease.Grant{}, err
	}
	s, ok, err = row.load(lock)
	if err == nil {
		err = f.checkSingle(r, s, ok)
	}
	if err != nil {
		return lease.Grant{}, errors.Join(err, lock.Close())
	}
	if !ok {
		s = fileState{Namespace: r.Namespace, Worker: r.First, Layout: r.Layout}
	}
	return f.owners.take(row, lock, s, r)
}

// lockSingle takes the lock. It tries again for a few milliseconds, since a List of another process holds it for an
// instant.
func (f *Store) lockSingle(ctx context.Context, r lease.Request) (*os.File, error) {
	for range 4 {
		lock, err := f.row("", 0).lock()
		if err != nil {
			return nil, fmt.Errorf("lease: state file: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		if f.owners.owns(f.row("", 0)) {
			break
		}
		if err := pause.For(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
}

// checkSingle compares the request with the state, if there is one.
func (f *Store) checkSingle(r lease.Request, s fileState, used bool) error {
	switch {
	case !used && r.First != r.Last:
		return fmt.Errorf("%w: the state file %s is for one worker, not for %d to %d", lease.ErrOption, f.single, r.First, r.Last)
	case !used:
		return nil
	case s.Namespace != r.Namespace:
		return fmt.Errorf("%w: the state file %s is for namespace %q, not %q", lease.ErrOption, f.single, s.Namespace, r.Namespace)
	case s.Layout != r.Layout:
		return fmt.Errorf("%w: the state file %s has %q, not %q", lease.ErrLayout, f.single, s.Layout, r.Layout)
	case s.Worker < r.First || s.Worker > r.Last:
		return fmt.Errorf("%w: the state file %s is for worker %d, which is not in %d to %d",
			lease.ErrOption, f.single, s.Worker, r.First, r.Last)
	}
	return nil
}

// listSingle returns the entry of a state file, if it was ever used and is of the namespace.
func (f *Store) listSingle(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, ok, err := f.row("", 0).read()
	if err != nil || !ok || (namespace != "" && s.Namespace != namespace) {
		return nil, err
	}
	held, err := f.row("", 0).held(&f.owners)
	if err != nil {
		return nil, fmt.Errorf("lease: state file: %w", err)
	}
	return []lease.Entry{s.entry(held)}, nil
}
