// Package filelease keeps leases in files of one host.
package filelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Store is a [lease.Store] for the processes of one host, in a folder. It needs no server
// and no clock: an owner holds a lock on a file for as long as it owns the worker,
// and the operating system ends that lock with the process, however it ends. So a
// worker is free the moment its owner is dead and never while it is only slow or
// stopped; the TTL is ignored, and Entry.Expires and Grant.Now are zero.
//
// Before Extend returns, the state of the worker has been written to a temporary
// file, flushed, renamed, and the folder flushed: two flushes each time. A power
// cut can't bring an old horizon back, as far as the disk tells the truth.
//
// The folder belongs to the store: to remove a file in it, or to put a backup
// back, is to make the store forget, and only clocks then keep the IDs apart. It
// must be one that all processes see (containers of a host mount it), and that
// they may write as the same user. A network file system is refused, see
// [AllowNetworkFolder].
//
// A Store is safe for concurrent use, and several in a process exclude each other
// like processes, but a claim is known only to the Store that acquired it: a
// repeated Acquire with the same token goes to the same Store. On Windows, an
// Extend can fail while another process reads that very state; it is then to be
// repeated, as after every failure.
type Store struct {
	dir    string
	turns  chan struct{} // one goroutine at a time scans, the other processes are kept out by a lock
	owners fileOwners
}

var _ lease.Store = (*Store)(nil)

// New returns the store in the folder dir, which it creates if need be. It
// returns an error that wraps ErrOption if the folder is on a network file system
// (known on Linux only) or on one that does not keep locks, and the operating
// system's if it can't be written.
func New(dir string, opts ...Option) (*Store, error) {
	dir, err := prepareFolder(dir, opts)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, turns: make(chan struct{}, 1)}, nil
}

// Acquire is as [lease.Store] says; workers that are free count from the last time that
// they were extended or released. Of those with a horizon above the tick it takes
// the lowest. ErrDamaged is for a file that can't be read.
func (f *Store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := checkFileRequest(ctx, r); err != nil {
		return lease.Grant{}, err
	}
	if err := makeFolder(f.folder(r.Namespace)); err != nil {
		return lease.Grant{}, fmt.Errorf("lease: file store: %w", err)
	}
	done, err := f.turn(ctx)
	if err != nil {
		return lease.Grant{}, err
	}
	defer done()
	row, lock, s, err := f.choose(ctx, r)
	if err != nil {
		return lease.Grant{}, err
	}
	if lock == nil {
		return lease.Grant{Claim: s.claim(), Horizon: s.Horizon}, nil
	}
	return f.owners.take(row, lock, s, r)
}

// choose returns a row with its lock and its state. If the token has a worker
// already it returns that one's state and no lock.
func (f *Store) choose(ctx context.Context, r lease.Request) (row fileRow, lock *os.File, s fileState, err error) {
	unlock, err := f.lockNamespace(ctx, r.Namespace)
	if err != nil {
		return row, nil, s, err
	}
	defer unlock()
	if err := useNamespace(f.folder(r.Namespace), r); err != nil {
		return row, nil, s, err
	}
	if g, ok, err := f.owners.again(r); ok || err != nil {
		return row, nil, fileState{
			Namespace: g.Namespace, Worker: g.Worker, Epoch: g.Epoch, Token: g.Token, Horizon: g.Horizon,
		}, err
	}
	return f.scan(ctx, r)
}

// Extend is as [lease.Store] says. The TTL is checked and then ignored, and the time that
// is returned is zero. A write can't be interrupted: ctx is looked at before. A
// horizon that is durable already costs no write. Besides ErrLost it returns
// ErrDamaged if the state was changed from outside to something unreadable, and
// the operating system's error, for example for a full disk.
func (f *Store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateTTL(ttl); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, f.owners.extend(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// Release is as [lease.Store] says; what it lowers is flushed like an extension. If it
// fails at the write, as on a full disk, the worker is free nevertheless, most
// likely with the horizon as it was.
func (f *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	return f.owners.release(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// List is as [lease.Store] says. If some files can't be read it returns the rest of the
// entries together with the error.
func (f *Store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	folders := []string{f.folder(namespace)}
	if namespace == "" {
		folders = nil
		found, err := os.ReadDir(f.dir)
		if err != nil {
			return nil, fmt.Errorf("lease: file store: %w", err)
		}
		for _, e := range found {
			if e.IsDir() && strings.HasPrefix(e.Name(), namespacePrefix) {
				folders = append(folders, filepath.Join(f.dir, e.Name()))
			}
		}
	}
	done, err := f.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var (
		entries []lease.Entry
		errs    []error
	)
	for _, folder := range folders {
		some, err := f.listFolder(ctx, folder)
		entries, errs = append(entries, some...), append(errs, err)
	}
	slices.SortFunc(entries, func(a, b lease.Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	return entries, errors.Join(errs...)
}

func (f *Store) listFolder(ctx context.Context, folder string) ([]lease.Entry, error) {
	used, err := readNamespace(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	unlock, err := f.lockNamespace(ctx, used.Namespace) // a look at a lock takes it for an instant
	if err != nil {
		return nil, err
	}
	defer unlock()
	return f.entries(ctx, used.Namespace)
}

// Close frees all workers at once, as the end of the process would. Every later
// call that needs one returns an error that wraps os.ErrClosed. Close what uses
// the store first.
func (f *Store) Close() error { return f.owners.close() }

func (f *Store) folder(namespace string) string {
	return filepath.Join(f.dir, namespaceFolder(namespace))
}

func (f *Store) row(namespace string, worker int64) fileRow {
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(f.folder(namespace), name), namespace: namespace, worker: worker}
}
