package filelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// admit compares the request with what the namespace or the state file was first used for.
func (f *Store) admit(r lease.Request, used []usedWorker) error {
	if f.file != "" && len(used) == 0 && r.First != r.Last {
		return fmt.Errorf("%w: the state file %s is for one worker, not for %d to %d",
			lease.ErrOption, f.file, r.First, r.Last)
	}
	var unread error
	for _, u := range used {
		s, ok, err := f.row(r.Namespace, u.worker).read()
		switch {
		case err != nil || !ok:
			unread = errors.Join(unread, err)
			continue // another state of the namespace says the same
		case s.Namespace != r.Namespace:
			return fmt.Errorf("%w: the state file %s is for namespace %q, not %q",
				lease.ErrOption, f.file, s.Namespace, r.Namespace)
		case s.Layout != r.Layout:
			return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, s.Layout, r.Layout)
		case f.file != "" && (s.Worker < r.First || s.Worker > r.Last):
			return fmt.Errorf("%w: the state file %s is for worker %d, which is not in %d to %d",
				lease.ErrOption, f.file, s.Worker, r.First, r.Last)
		}
		return nil
	}
	return unread
}

// choose returns a free row in the order of lease.Store.Acquire, with its lock and its state. It begins with those that
// were not written for the longest time, so that it rarely opens the files of workers that are held and extended every
// few seconds.
func (f *Store) choose(
	ctx context.Context, r lease.Request, used []usedWorker,
) (row fileRow, lock *os.File, s fileState, err error) {
	try := func(worker int64) bool { // reports whether the search ends
		row = f.row(r.Namespace, worker)
		if err = ctx.Err(); err == nil && f.owned[row.path] == nil {
			lock, s, err = row.claim(fileState{Namespace: r.Namespace, Worker: worker, Layout: r.Layout})
		}
		return err != nil || lock != nil
	}
	taken := make(map[int64]bool, len(used))
	var ahead []usedWorker // of the clock: taken only if there is no other
	for _, u := range used {
		taken[u.worker] = true
		if u.worker < r.First || u.worker > r.Last || !try(u.worker) {
			continue
		}
		if err != nil || s.Horizon <= r.Tick {
			return row, lock, s, err
		}
		u.horizon = s.Horizon
		ahead = append(ahead, u)
		if err = unlock(lock); err != nil {
			return row, nil, s, err
		}
		lock = nil
	}
	if f.file == "" || len(used) == 0 {
		for worker := r.First; worker <= r.Last && worker >= r.First; worker++ { // Last may be the greatest int64
			if !taken[worker] && try(worker) {
				return row, lock, s, err
			}
		}
	}
	slices.SortStableFunc(ahead, func(a, b usedWorker) int { return cmp.Compare(a.horizon, b.horizon) })
	for _, u := range ahead {
		if try(u.worker) {
			return row, lock, s, err
		}
	}
	return row, nil, s, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
}

// rows returns the rows of a namespace, or for "" of all, also those of the other namespaces together with an error.
func (f *Store) rows(namespace string) ([]fileRow, error) {
	if f.file != "" {
		return []fileRow{f.row("", 0)}, nil
	}
	namespaces := []string{namespace}
	if namespace == "" {
		var err error
		if namespaces, err = f.namespaces(); err != nil {
			return nil, err
		}
	}
	var (
		rows []fileRow
		errs []error
	)
	for _, namespace := range namespaces {
		used, err := f.used(namespace)
		errs = append(errs, err)
		for _, u := range used {
			rows = append(rows, f.row(namespace, u.worker))
		}
	}
	return rows, errors.Join(errs...)
}

// usedWorker is a worker that was taken at least once.
type usedWorker struct {
	worker  int64
	since   time.Time // of the last write: free since then, if it is free
	horizon int64
}

// used returns the workers that have a state, in the order of their last write. In a folder it opens none of the files.
func (f *Store) used(namespace string) ([]usedWorker, error) {
	if f.file != "" {
		s, ok, err := f.row("", 0).read()
		if err != nil || !ok {
			return nil, err
		}
		return []usedWorker{{worker: s.Worker}}, nil
	}
	found, err := os.ReadDir(f.folder(namespace))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lease: file store: %w", err)
	}
	var used []usedWorker
	for _, e := range found {
		worker, ok := workerOfFile(e.Name())
		if !ok {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile; load finds out from the lock file
		}
		if err != nil {
			return nil, fmt.Errorf("lease: file store: %w", err)
		}
		used = append(used, usedWorker{worker: worker, since: info.ModTime()})
	}
	slices.SortFunc(used, func(a, b usedWorker) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.worker, b.worker))
	})
	return used, nil
}
