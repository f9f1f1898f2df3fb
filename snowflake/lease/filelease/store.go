package filelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Store is a [leasestore.Store] on files. It is safe for concurrent use, and several of one process exclude each other
// like processes do. A claim is known only to the Store that acquired it, so a repeated Acquire with the same token
// must go to the same Store. On Windows an Extend can fail while another process reads that state: repeat it, as after
// every failure.
//
// An owner holds a lock on a file for as long as it owns the worker, and the operating system ends that lock with the
// process, however that ends. So a worker is free as soon as its owner is dead, and never while it is only slow or
// stopped. The TTL is ignored unless it reserves the worker, and Entry.Expires and Grant.Now are zero.
//
// Before Extend returns, the state of the worker has been written to a temporary file, flushed, renamed, and the folder
// flushed: two flushes each time. A power cut can't bring an old horizon back if the disk does what it reports.
type Store struct {
	dir  folder
	gate fileRow // whose lock keeps out the other processes while this one chooses a worker or lists

	turn   chan struct{}     // has an element while a call uses the fields below
	owned  map[string]*owner // by the path of the state
	closed bool
}

// pollInterval is the time between two attempts at a lock that another process holds.
const pollInterval = 2 * time.Millisecond

var _ leasestore.Store = (*Store)(nil)

// New returns a store in the folder dir, and creates the folder if it is missing. It returns an error that matches
// lease.ErrOption if the folder is on a network file system or shared with a virtual machine's host (both known on
// Linux only) or on a file system that does not keep locks, and the operating system's if it can't be written.
//
// A process whose configuration names its worker, such as the ordinal of a pod, needs a folder that outlives
// it, such as a volume, and lease.WithWorkers(n, n). After Close of the lease a restart waits for nothing. After a
// crash the first ID waits for the horizon, up to a window.
//
// The folder belongs to the store. If a file in it is removed or restored from a backup, the store forgets horizons,
// and only clocks then keep the IDs apart. All processes must see the same folder (containers of a host mount it) and
// write it as the same user.
func New(dir string) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: the path of the file store is empty", lease.ErrOption)
	}

	// Absolute, so that a process that changes its working directory keeps its store.
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeFolder(dir)
	}
	if err != nil {
		return nil, storeError(err)
	}
	if name, err := networkFileSystem(dir); err != nil {
		return nil, storeError(err)
	} else if name != "" {
		return nil, fmt.Errorf("%w: %s is on a network file system (%s), whose locks can be lost without notice",
			lease.ErrOption, dir, name)
	}

	if err := probeLocks(dir); err != nil {
		return nil, err
	}

	return &Store{
		dir:   folder(dir),
		gate:  fileRow{path: filepath.Join(dir, "store")},
		turn:  make(chan struct{}, 1),
		owned: map[string]*owner{},
	}, nil
}

// Acquire implements [leasestore.Store]. How long a worker has been free counts from its last extension or release.
// Among workers with a horizon above the tick it takes the one with the lowest horizon. It returns lease.ErrDamaged for
// a file that can't be read.
func (f *Store) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}
	if !utf8.ValidString(r.Layout) { // JSON would store another text
		return leasestore.Grant{}, fmt.Errorf("%w: the layout %q is not UTF-8", lease.ErrOption, r.Layout)
	}

	unlockAll, err := f.lockProcesses(ctx)
	if err != nil {
		return leasestore.Grant{}, err
	}

	defer unlockAll()
	if err := f.dir.checkVersion(r.Namespace); err != nil {
		return leasestore.Grant{}, err
	}

	used, err := f.dir.used(r.Namespace)
	if err == nil {
		err = checkLayout(r, used)
	}
	if err != nil {
		return leasestore.Grant{}, err
	}
	if grant, ok, err := f.regrant(r, used); ok || err != nil {
		return grant, err
	}
	if len(used) == 0 {
		if err := f.dir.begin(r.Namespace); err != nil {
			return leasestore.Grant{}, err
		}
	}

	row, lock, s, err := f.choose(ctx, r, used)
	if err != nil {
		return leasestore.Grant{}, err
	}

	return f.take(row, lock, s, r)
}

// Extend implements [leasestore.Store]. The TTL is checked and then ignored, and the returned time is zero. A write
// can't be interrupted; ctx is checked before it. Besides lease.ErrLost it returns lease.ErrDamaged if the state was
// changed from outside to something unreadable, and the operating system's error, for example for a full disk.
func (f *Store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}

	if err := f.lockStore(ctx); err != nil {
		return time.Time{}, err
	}

	defer f.unlockStore()
	return time.Time{}, f.use(c, func(o *owner, s fileState) error {
		// Written even if the file shows this horizon: an earlier write may have failed before its flush.
		s.Horizon = max(s.Horizon, horizon)
		o.claim.Token, o.claim.Next = s.Token, c.Next // a failed write may leave either
		s.Token = c.Next
		if err := o.row.write(s); err != nil {
			return fmt.Errorf("lease: extending worker %d: %w", c.Worker, err)
		}
		o.claim, o.idle = s.claim(), false
		// After the write, so a reader that sees the mark also sees every confirmed horizon.
		return f.dir.checkVersion(c.Namespace)
	})
}

// Release implements [leasestore.Store]. What it lowers is flushed like an extension. If the write fails, for example
// on a full disk, the worker is free nevertheless, most likely with the old horizon.
func (f *Store) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	if err := f.lockStore(ctx); err != nil {
		return err
	}

	defer f.unlockStore()
	return f.use(c, func(o *owner, s fileState) error {
		released := s
		released.Reserved = false
		released.Horizon = min(s.Horizon, max(0, horizon))
		if o.idle && released == s { // a repetition
			return f.drop(o)
		}

		// A failed write may leave either horizon. Nothing more is issued, so both are right.
		err := o.row.write(released) // its modification time is when the worker became free
		if err != nil {
			err = fmt.Errorf("lease: releasing worker %d: %w", c.Worker, err)
		}
		return errors.Join(err, f.drop(o))
	})
}

// List implements [leasestore.Store]. If some files can't be read it returns the other entries together with the error.
func (f *Store) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	unlockAll, err := f.lockProcesses(ctx) // looking at a lock takes it for an instant
	if err != nil {
		return nil, err
	}

	defer unlockAll()
	namespaces := []string{namespace}
	if namespace == "" {
		if namespaces, err = f.dir.namespaces(); err != nil {
			return nil, err
		}
	}

	var (
		entries []leasestore.Entry
		errs    []error
	)
	for _, name := range namespaces {
		rows, err := f.dir.used(name)
		errs = append(errs, err)
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e, ok, err := f.entry(row)
			errs = append(errs, err)
			if ok {
				entries = append(entries, e)
			}
		}
	}

	slices.SortFunc(entries, func(a, b leasestore.Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})

	return entries, errors.Join(errs...)
}

// entry returns the entry of a row, and false if its state was removed meanwhile.
func (f *Store) entry(row fileRow) (e leasestore.Entry, ok bool, err error) {
	s, ok, err := row.read(nil)
	if err != nil || !ok {
		return e, false, err
	}

	held, err := f.held(row)
	return s.entry(held), err == nil, err
}

// Close frees all workers at once, as the end of the process would. Later calls return an error that wraps
// os.ErrClosed. Close the leases first.
func (f *Store) Close() error {
	f.turn <- struct{}{}
	defer f.unlockStore()
	f.closed = true

	var errs []error
	for _, o := range f.owned {
		errs = append(errs, f.drop(o))
	}
	return errors.Join(errs...)
}

// lockStore waits until no other goroutine is in a call of the store.
func (f *Store) lockStore(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}

	if f.closed {
		f.unlockStore()
		return fmt.Errorf("lease: file store in %s: %w", f.dir, os.ErrClosed)
	}
	return nil
}

func (f *Store) unlockStore() { <-f.turn }

// lockProcesses is lockStore for a call that also keeps out the other processes that choose a worker or list. It takes
// the gate before the turn, so that no extension waits for it. It polls, since no context ends a wait in the kernel.
func (f *Store) lockProcesses(ctx context.Context) (unlockAll func(), err error) {
	gate, err := f.gate.lock()
	for ; gate == nil && err == nil; gate, err = f.gate.lock() {
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("lease: waiting for %s, which another process has locked: %w",
				f.gate.path+lockSuffix, ctx.Err())
		}
	}

	if err != nil {
		return nil, err
	}
	if err := f.lockStore(ctx); err != nil {
		return nil, errors.Join(err, unlock(gate))
	}

	return func() {
		f.unlockStore()
		_ = unlock(gate) // nothing was written to it
	}, nil
}
