package filelease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// StateFile is a Store with exactly one worker, for a process whose number is
// given to it: by its configuration ([WorkerFromEnv]), by its place in a
// StatefulSet ([WorkerFromOrdinal]). Such a number alone does not keep IDs apart
// when a process is restarted after its clock was set back. The file does: it
// holds the horizon, and no ID below it is issued again. After Close of the lease
// that is the tick after the last ID, so that a restart waits for nothing; after a
// crash the first ID waits for the horizon, up to a window.
//
// The file, and the lock file beside it, are kept as [Store] keeps those of a
// worker, and what its comment says about folders, flushes and the TTL holds
// here. The namespace, the worker and the layout of the first Acquire are
// written into it, and no other are accepted later. The folder must outlive the
// process: in a container, it is a volume.
//
// A second process with the same file finds the worker held. One that has the
// same number and another file is not seen: that the numbers differ is up to who
// gives them out.
type StateFile struct {
	path   string
	owners fileOwners
}

var _ lease.Store = (*StateFile)(nil)

// NewStateFile returns the store in the file at path, which is created by the
// first Acquire; its folder is created now if need be. The errors are those of
// New.
func NewStateFile(path string, opts ...Option) (*StateFile, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: the path of the state file is empty", lease.ErrOption)
	}
	dir, err := prepareFolder(filepath.Dir(path), opts)
	if err != nil {
		return nil, err
	}
	return &StateFile{path: filepath.Join(dir, filepath.Base(path))}, nil
}

// Acquire takes the file's worker. The first one of a file has to ask for one
// worker, so that First and Last are the same (WithWorkers(n, n)); later ones for
// a range that it is in. It returns a *NoWorkerError (ErrNoWorker) if another
// process has the file, ErrLayout if it was first used with another layout, an
// error that wraps ErrOption if it was used with another namespace or worker, and
// ErrDamaged if it can't be read.
func (f *StateFile) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := checkFileRequest(ctx, r); err != nil {
		return lease.Grant{}, err
	}
	row := f.row()
	s, ok, err := row.read() // the errors of a wrong request come before that of a held worker
	if err == nil {
		err = f.check(r, s, ok)
	}
	if err != nil {
		return lease.Grant{}, err
	}
	if grant, ok, err := f.owners.again(r); ok || err != nil {
		return grant, err
	}
	lock, err := f.lock(ctx, r)
	if err != nil {
		return lease.Grant{}, err
	}
	s, ok, err = row.load(lock)
	if err == nil {
		err = f.check(r, s, ok)
	}
	if err != nil {
		return lease.Grant{}, errors.Join(err, lock.Close())
	}
	if !ok {
		s = fileState{Namespace: r.Namespace, Worker: r.First, Layout: r.Layout}
	}
	return f.owners.take(row, lock, s, r)
}

// lock takes the lock. A List of another process has it for an instant, which
// must not pass for an owner.
func (f *StateFile) lock(ctx context.Context, r lease.Request) (*os.File, error) {
	for range 4 {
		lock, err := f.row().lock()
		if err != nil {
			return nil, fmt.Errorf("lease: state file: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		if f.owners.owns(f.row()) {
			break
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
}

// check compares the request with the state, if there is one.
func (f *StateFile) check(r lease.Request, s fileState, used bool) error {
	switch {
	case !used && r.First != r.Last:
		return fmt.Errorf("%w: the state file %s is for one worker, not for %d to %d", lease.ErrOption, f.path, r.First, r.Last)
	case !used:
		return nil
	case s.Namespace != r.Namespace:
		return fmt.Errorf("%w: the state file %s is for namespace %q, not %q", lease.ErrOption, f.path, s.Namespace, r.Namespace)
	case s.Layout != r.Layout:
		return fmt.Errorf("%w: the state file %s has %q, not %q", lease.ErrLayout, f.path, s.Layout, r.Layout)
	case s.Worker < r.First || s.Worker > r.Last:
		return fmt.Errorf("%w: the state file %s is for worker %d, which is not in %d to %d",
			lease.ErrOption, f.path, s.Worker, r.First, r.Last)
	}
	return nil
}

// Extend is as that of Store.
func (f *StateFile) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateTTL(ttl); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, f.owners.extend(ctx, f.row(), c, horizon)
}

// Release is as that of Store.
func (f *StateFile) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	return f.owners.release(ctx, f.row(), c, horizon)
}

// List returns the worker's entry, if it was ever taken and is of the namespace.
func (f *StateFile) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, ok, err := f.row().read()
	if err != nil || !ok || (namespace != "" && s.Namespace != namespace) {
		return nil, err
	}
	held, err := f.row().held(&f.owners)
	if err != nil {
		return nil, fmt.Errorf("lease: state file: %w", err)
	}
	return []lease.Entry{s.entry(held)}, nil
}

// Close frees the worker at once, as the end of the process would. Every later
// call that needs it returns an error that wraps os.ErrClosed.
func (f *StateFile) Close() error { return f.owners.close() }

func (f *StateFile) row() fileRow { return fileRow{path: f.path} }
