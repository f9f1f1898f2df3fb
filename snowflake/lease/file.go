package lease

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
)

// File is a Store for the processes of one host, in a folder. It needs no server
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
// A File is safe for concurrent use, and several in a process exclude each other
// like processes, but a claim is known only to the File that acquired it: a
// repeated Acquire with the same token goes to the same File. On Windows, an
// Extend can fail while another process reads that very state; it is then to be
// repeated, as after every failure.
type File struct {
	dir    string
	turns  chan struct{} // one goroutine at a time scans, the other processes are kept out by a lock
	owners fileOwners
}

var _ Store = (*File)(nil)

// NewFile returns the store in the folder dir, which it creates if need be. It
// returns an error that wraps ErrConfig if the folder is on a network file system
// (known on Linux only) or on one that does not keep locks, and the operating
// system's if it can't be written.
func NewFile(dir string, opts ...FileOption) (*File, error) {
	dir, err := prepareFolder(dir, opts)
	if err != nil {
		return nil, err
	}
	return &File{dir: dir, turns: make(chan struct{}, 1)}, nil
}

// Acquire is as Store says; workers that are free count from the last time that
// they were extended or released. Of those with a horizon above the tick it takes
// the lowest. ErrDamaged is for a file that can't be read.
func (f *File) Acquire(ctx context.Context, r Request) (Grant, error) {
	if err := checkFileRequest(ctx, r); err != nil {
		return Grant{}, err
	}
	if err := makeFolder(f.folder(r.Namespace)); err != nil {
		return Grant{}, fmt.Errorf("lease: file store: %w", err)
	}
	done, err := f.turn(ctx)
	if err != nil {
		return Grant{}, err
	}
	defer done()
	row, lock, s, err := f.choose(ctx, r)
	if err != nil {
		return Grant{}, err
	}
	if lock == nil {
		return Grant{Claim: s.claim(), Horizon: s.Horizon}, nil
	}
	return f.owners.take(row, lock, s, r)
}

// choose returns a row with its lock and its state. If the token has a worker
// already it returns that one's state and no lock.
func (f *File) choose(ctx context.Context, r Request) (row fileRow, lock *os.File, s fileState, err error) {
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

// Extend is as Store says. The TTL is checked and then ignored, and the time that
// is returned is zero. A write can't be interrupted: ctx is looked at before. A
// horizon that is durable already costs no write. Besides ErrLost it returns
// ErrDamaged if the state was changed from outside to something unreadable, and
// the operating system's error, for example for a full disk.
func (f *File) Extend(ctx context.Context, c Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := ValidateTTL(ttl); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, f.owners.extend(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// Release is as Store says; what it lowers is flushed like an extension. If it
// fails at the write, as on a full disk, the worker is free nevertheless, most
// likely with the horizon as it was.
func (f *File) Release(ctx context.Context, c Claim, horizon int64) error {
	return f.owners.release(ctx, f.row(c.Namespace, c.Worker), c, horizon)
}

// List is as Store says. If some files can't be read it returns the rest of the
// entries together with the error.
func (f *File) List(ctx context.Context, namespace string) ([]Entry, error) {
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
		entries []Entry
		errs    []error
	)
	for _, folder := range folders {
		some, err := f.listFolder(ctx, folder)
		entries, errs = append(entries, some...), append(errs, err)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	return entries, errors.Join(errs...)
}

func (f *File) listFolder(ctx context.Context, folder string) ([]Entry, error) {
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
func (f *File) Close() error { return f.owners.close() }

func (f *File) folder(namespace string) string {
	return filepath.Join(f.dir, namespaceFolder(namespace))
}

func (f *File) row(namespace string, worker int64) fileRow {
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(f.folder(namespace), name), namespace: namespace, worker: worker}
}
