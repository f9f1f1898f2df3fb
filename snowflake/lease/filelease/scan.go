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

// usedWorker is a worker that was taken at least once.
type usedWorker struct {
	worker  int64
	since   time.Time // of the last write: free since then, if it is free
	horizon int64
}

// used returns the workers of a namespace that have a state, in no order. It opens none of the files.
func (f *Store) used(namespace string) ([]usedWorker, error) {
	found, err := os.ReadDir(f.folder(namespace))
	if err != nil {
		return nil, fmt.Errorf("lease: file store: %w", err)
	}
	var workers []usedWorker
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
		workers = append(workers, usedWorker{worker: worker, since: info.ModTime()})
	}
	return workers, nil
}

// scan returns a free row in the order of lease.Store.Acquire. It begins with those that were not written for the
// longest time, so that it rarely opens the files of workers that are held and extended every few seconds.
func (f *Store) scan(ctx context.Context, r lease.Request) (row fileRow, lock *os.File, s fileState, err error) {
	used, err := f.used(r.Namespace)
	if err != nil {
		return row, nil, s, err
	}
	taken := make(map[int64]bool, len(used))
	for _, u := range used {
		taken[u.worker] = true
	}
	used = slices.DeleteFunc(used, func(u usedWorker) bool { return u.worker < r.First || u.worker > r.Last })
	slices.SortFunc(used, func(a, b usedWorker) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.worker, b.worker))
	})
	var ahead []usedWorker // of the clock: taken only if there is no other
	for _, u := range used {
		row, lock, s, err = f.claimRow(ctx, r, u.worker)
		if err != nil {
			return row, nil, s, err
		}
		if lock == nil {
			continue
		}
		if s.Horizon <= r.Tick {
			return row, lock, s, nil
		}
		u.horizon = s.Horizon
		ahead = append(ahead, u)
		if err := lock.Close(); err != nil {
			return row, nil, s, err
		}
	}
	for worker := r.First; worker <= r.Last && worker >= r.First; worker++ { // the second condition: Last may be the greatest int64
		if taken[worker] {
			continue
		}
		row, lock, s, err = f.claimRow(ctx, r, worker)
		if err != nil || lock != nil {
			return row, lock, s, err
		}
	}
	slices.SortStableFunc(ahead, func(a, b usedWorker) int { return cmp.Compare(a.horizon, b.horizon) })
	for _, u := range ahead {
		row, lock, s, err = f.claimRow(ctx, r, u.worker)
		if err != nil || lock != nil {
			return row, lock, s, err
		}
	}
	return row, nil, s, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
}

// claimRow returns the lock of a worker's row, nil if it is held, and its state, which has the epoch 0 if there is
// none.
func (f *Store) claimRow(ctx context.Context, r lease.Request, worker int64) (row fileRow, lock *os.File, s fileState, err error) {
	row = f.row(r.Namespace, worker)
	if err := ctx.Err(); err != nil {
		return row, nil, s, err
	}
	if f.owners.owns(row) {
		return row, nil, s, nil
	}
	lock, err = row.lock()
	if err != nil {
		return row, nil, s, fmt.Errorf("lease: file store: %w", err)
	}
	if lock == nil {
		return row, nil, s, nil
	}
	s, ok, err := row.load(lock)
	if err != nil {
		return row, nil, s, errors.Join(err, lock.Close())
	}
	if !ok {
		s = fileState{Namespace: r.Namespace, Worker: worker, Layout: r.Layout}
	}
	return row, lock, s, nil
}

// entries returns the entries of a namespace, which is locked.
func (f *Store) entries(ctx context.Context, namespace string) ([]lease.Entry, error) {
	used, err := f.used(namespace)
	if err != nil {
		return nil, err
	}
	var (
		entries []lease.Entry
		errs    []error
	)
	for _, u := range used {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := f.row(namespace, u.worker)
		s, ok, err := row.read()
		if err != nil || !ok {
			errs = append(errs, err)
			continue
		}
		held, err := row.held(&f.owners)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, s.entry(held))
	}
	return entries, errors.Join(errs...)
}

// held reports whether the row's lock is held, by trying to take it.
func (r fileRow) held(own *fileOwners) (bool, error) {
	if own.owns(r) {
		return true, nil
	}
	lock, err := r.lock()
	if err != nil || lock == nil {
		return err == nil, err
	}
	return false, lock.Close()
}
