package filelease

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// checkRequest compares the request with what the namespace or the state file was first used for.
func (f *Store) checkRequest(r leasestore.Request, used []fileRow) error {
	var unread error
	for _, row := range used {
		s, ok, err := row.read(nil)
		if err != nil || !ok {
			unread = errors.Join(unread, err)
			continue // another state of the namespace says the same
		}

		if err := f.place.check(r, s); err != nil {
			return err
		}
		if s.Layout != r.Layout {
			return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, s.Layout, r.Layout)
		}
		return nil
	}

	return unread
}

// choose returns the next free worker, with its lock and its state. Package order decides the order, as if each worker
// were free with the horizon 0: a worker's files are opened only when its turn comes. It begins with those that were
// not written for the longest time, so it rarely opens the files of workers that are held and extended every few
// seconds.
func (f *Store) choose(
	ctx context.Context, r leasestore.Request, used []fileRow,
) (row fileRow, lock *os.File, s fileState, err error) {
	rows := make([]order.Row, len(used))
	for i, u := range used {
		rows[i] = order.Row{Worker: u.worker, Free: true, FreeFrom: u.written}
	}
	candidates := f.place.candidates(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)

	for {
		next, ok := candidates.Take(0)
		if !ok {
			return row, nil, s, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
		}
		if err = ctx.Err(); err != nil {
			return row, nil, s, err
		}

		row = f.place.row(r.Namespace, next.Worker)
		lock, s, err = f.lockFree(row, r, next.Worker)
		switch {
		case err != nil:
			return row, nil, s, err
		case lock == nil:
			continue
		case s.Horizon <= max(next.Horizon, r.Tick): // it is this one's turn indeed
			return row, lock, s, nil
		}

		next.Horizon = s.Horizon
		candidates.Put(next)
		if err = unlock(lock); err != nil {
			return row, nil, s, err
		}
	}
}

// lockFree returns the lock and the state of the worker's row, and no lock if it is held or reserved.
func (f *Store) lockFree(row fileRow, r leasestore.Request, worker int64) (*os.File, fileState, error) {
	if f.owned[row.path] != nil {
		return nil, fileState{}, nil
	}
	lock, err := row.lock()
	if lock == nil {
		return nil, fileState{}, err
	}

	s, ok, err := row.read(lock)
	if err != nil || s.Reserved {
		return nil, s, errors.Join(err, unlock(lock))
	}
	if !ok {
		s = fileState{Namespace: r.Namespace, Worker: worker, Layout: r.Layout}
	}
	return lock, s, nil
}
