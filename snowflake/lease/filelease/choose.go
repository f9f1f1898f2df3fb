package filelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// admit compares the request with what the namespace or the state file was first used for.
func (f *Store) admit(r lease.Request, used []fileRow) error {
	if f.file != "" && len(used) == 0 && r.First != r.Last {
		return fmt.Errorf("%w: the state file %s is for one worker, not for %d to %d",
			lease.ErrOption, f.file, r.First, r.Last)
	}
	var unread error
	for _, row := range used {
		s, ok, err := row.read(nil)
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
	ctx context.Context, r lease.Request, used []fileRow,
) (row fileRow, lock *os.File, s fileState, err error) {
	try := func(worker int64) bool { // reports whether the search ends
		row = f.row(r.Namespace, worker)
		if err = ctx.Err(); err != nil || f.owned[row.path] != nil {
			return err != nil
		}
		if lock, err = row.lock(); lock == nil {
			return err != nil
		}
		var ok bool
		if s, ok, err = row.read(lock); err != nil || s.Reserved {
			err = errors.Join(err, unlock(lock))
			return err != nil
		} else if !ok {
			s = fileState{Namespace: r.Namespace, Worker: worker, Layout: r.Layout}
		}
		return true
	}
	taken := make(map[int64]bool, len(used))
	var ahead []fileState // of the clock: taken only if there is no other
	for _, u := range used {
		taken[u.worker] = true
		if u.worker < r.First || u.worker > r.Last || !try(u.worker) {
			continue
		}
		if err != nil || s.Horizon <= r.Tick {
			return row, lock, s, err
		}
		ahead = append(ahead, s)
		if err = unlock(lock); err != nil {
			return row, nil, s, err
		}
	}
	if f.file == "" || len(used) == 0 {
		for worker := r.First; worker <= r.Last && worker >= r.First; worker++ { // Last may be the greatest int64
			if !taken[worker] && try(worker) {
				return row, lock, s, err
			}
		}
	}
	slices.SortStableFunc(ahead, func(a, b fileState) int { return cmp.Compare(a.Horizon, b.Horizon) })
	for _, u := range ahead {
		if try(u.Worker) {
			return row, lock, s, err
		}
	}
	return row, nil, s, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
}
