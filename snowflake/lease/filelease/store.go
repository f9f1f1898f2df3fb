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

// Store is a [lease.Store] on files. It is safe for concurrent use, and several of one process exclude each other like
// processes do. A claim is known only to the Store that acquired it, so a repeated Acquire with the same token must go
// to the same Store. On Windows an Extend can fail while another process reads that state; it is to be repeated, as
// after every failure.
//
// An owner holds a lock on a file for as long as it owns the worker, and the operating system ends that lock with the
// process, however that ends. So a worker is free as soon as its owner is dead, and never while it is only slow or
// stopped. The TTL is ignored, and Entry.Expires and Grant.Now are zero.
//
// Before Extend returns, the state of the worker has been written to a temporary file, flushed, renamed, and the folder
// flushed: two flushes each time. A power cut can't bring an old horizon back if the disk does what it reports.
type Store struct {
	dir    string
	single string        // the path of the only state file, or "" for a folder of namespaces
	turns  chan struct{} // holds an element while a goroutine scans; a lock keeps other processes out
	owners fileOwners
}

var _ lease.Store = (*Store)(nil)

// New returns a store in the folder dir, which it creates if need be. It returns an error that matches lease.ErrOption
// if the folder is on a network file system or shared with a virtual machine's host (both known on Linux only) or on a
// file system that does not keep locks, and the operating system's if it can't be written.
//
// The folder belongs to the store. If a file in it is removed or restored from a backup, the store forgets horizons,
// and only clocks then keep the IDs apart. All processes must see the same folder (containers of a host mount it) and
// write it as the same user.
func New(dir string, opts ...Option) (*Store, error) {
	dir, err := prepareFolder(dir, opts)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, turns: make(chan struct{}, 1)}, nil
}

// NewStateFile returns a store with exactly one worker, in the file at path, for a process whose worker number is given
// to it, for example by lease.WorkerFromEnv or lease.WorkerFromOrdinal. The number alone does not keep IDs apart if the
// process is restarted after its clock was set back. The file does: it holds the horizon, and no ID below it is issued
// again. After Close of the lease a restart waits for nothing; after a crash the first ID waits for the horizon, up to
// a window.
//
// The folder of the file is created now if need be, the file by the first Acquire, and a lock file beside it. The
// errors are those of New. The folder must outlive the process: in a container it is a volume.
//
// The first Acquire writes the namespace, the worker and the layout into the file, and others are rejected later. It
// must ask for one worker (lease.WithWorkers(n, n)); later ones may ask for a range that includes it. A second process
// with the same file finds the worker held. A process with the same number and another file is not noticed.
func NewStateFile(path string, opts ...Option) (*Store, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: the path of the state file is empty", lease.ErrOption)
	}
	dir, err := prepareFolder(filepath.Dir(path), opts)
	if err != nil {
		return nil, err
	}
	return &Store{single: filepath.Join(dir, filepath.Base(path))}, nil
}

// Acquire is as [lease.Store] says; how long a worker has been free counts from its last extension or release. Among
// workers with a horizon above the tick it takes the one with the lowest horizon. It returns lease.ErrDamaged for a
// file that can't be read, and lease.ErrOption if a state file is for another namespace or worker.
func (f *Store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := checkRequest(ctx, r); err != nil {
		return lease.Grant{}, err
	}
	if f.single != "" {
		return f.acquireSingle(ctx, r)
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

// choose returns a row with its lock and its state. If the token has a worker already it returns that one's state and
// no lock.
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

// Extend is as [lease.Store] says. The TTL is checked and then ignored, and the returned time is zero. A write can't be
// interrupted; ctx is checked before it. A horizon and a token that are durable already cost no write. Besides
// lease.ErrLost it returns lease.ErrDamaged if the state was changed from outside to something unreadable, and the
// operating system's error, for example for a full disk.
func (f *Store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, f.owners.extend(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// Release is as [lease.Store] says; what it lowers is flushed like an extension. If the write fails, for example on a
// full disk, the worker is free nevertheless, most likely with the old horizon.
func (f *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	return f.owners.release(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// List is as [lease.Store] says. If some files can't be read it returns the other entries together with the error.
func (f *Store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if f.single != "" {
		return f.listSingle(ctx, namespace)
	}
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
	unlock, err := f.lockNamespace(ctx, used.Namespace) // looking at a lock takes it for an instant
	if err != nil {
		return nil, err
	}
	defer unlock()
	return f.entries(ctx, used.Namespace)
}

// Close frees all workers at once, as the end of the process would. Later calls that need one return an error that
// wraps os.ErrClosed. Close the leases first.
func (f *Store) Close() error { return f.owners.close() }

func (f *Store) folder(namespace string) string {
	return filepath.Join(f.dir, namespaceFolder(namespace))
}

func (f *Store) row(namespace string, worker int64) fileRow {
	if f.single != "" {
		return fileRow{path: f.single}
	}
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(f.folder(namespace), name), namespace: namespace, worker: worker}
}
