package filelease

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// probeLocks checks that files can be written in the folder, and that a lock keeps others out: some file systems grant
// every lock.
func probeLocks(dir string) error {
	first, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return storeError(err)
	}

	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err == nil {
		one, oneErr := lockFile(first)
		two, twoErr := lockFile(second)
		lockErr := errors.Join(oneErr, twoErr)
		if excludes := one && !two; lockErr != nil || !excludes {
			err = errors.Join(
				fmt.Errorf("%w: the file system of %s does not keep locks", lease.ErrOption, dir), lockErr)
		}
		err = errors.Join(err, second.Close())
	}

	return storeError(errors.Join(err, first.Close(), os.Remove(first.Name())))
}

// makeFolder creates a folder and its parents, and makes that durable.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// folder has a folder for each namespace, and there a state file for each worker.
type folder string

// of returns the folder of a namespace. Hexadecimal digits are a file name everywhere, even where names ignore case.
func (d folder) of(namespace string) string {
	return filepath.Join(string(d), hex.EncodeToString([]byte(namespace)))
}

// namespaces returns all that may have a state.
func (d folder) namespaces() ([]string, error) {
	found, err := os.ReadDir(string(d))
	if err != nil {
		return nil, storeError(err)
	}

	var names []string
	for _, e := range found {
		name, err := hex.DecodeString(e.Name())
		isNamespace := err == nil && len(name) > 0 && hex.EncodeToString(name) == e.Name() // in lower case
		if e.IsDir() && isNamespace {
			names = append(names, string(name))
		}
	}
	return names, nil
}

// row returns the row of a worker, which may have no state yet.
func (d folder) row(namespace string, worker int64) fileRow {
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(d.of(namespace), name), namespace: namespace, worker: worker}
}

// checkVersion returns a *lease.VersionError if a later version that needs to keep this one out has put a file of its
// format into the folder of the namespace.
func (d folder) checkVersion(namespace string) error {
	_, _, err := fileRow{path: filepath.Join(d.of(namespace), "namespace"+stateSuffix)}.read(nil)
	return err
}

// used returns the rows of a namespace that have a state, in the order of their last write. It opens no file.
func (d folder) used(namespace string) ([]fileRow, error) {
	found, err := os.ReadDir(d.of(namespace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storeError(err)
	}

	var rows []fileRow
	for _, e := range found {
		row, ok := d.rowOf(namespace, e.Name())
		if !ok {
			continue
		}

		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile; read finds out from the lock file
		}
		if err != nil {
			return nil, storeError(err)
		}

		row.written = info.ModTime()
		rows = append(rows, row)
	}

	slices.SortFunc(rows, func(a, b fileRow) int {
		return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.worker, b.worker))
	})

	return rows, nil
}

// rowOf returns the row whose state is in the file, and false for another file, such as one with a leading zero.
func (d folder) rowOf(namespace, file string) (row fileRow, ok bool) {
	worker, _ := strconv.ParseUint(strings.TrimSuffix(file, stateSuffix), 10, 63) // another worker if it is no number
	row = d.row(namespace, int64(worker))
	return row, filepath.Base(row.path) == file
}

// begin creates the folder of the namespace. It also flushes one that exists: the process that created it may have died
// before.
func (d folder) begin(namespace string) error {
	return storeError(errors.Join(makeFolder(d.of(namespace)), syncFolder(string(d))))
}

// checkLayout compares the layout of the request with the one that the namespace was first used for.
func checkLayout(r leasestore.Request, used []fileRow) error {
	var unread error
	for _, row := range used {
		s, ok, err := row.read(nil)
		if err != nil || !ok {
			unread = errors.Join(unread, err)
			continue // another state of the namespace says the same
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
	candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)

	for {
		next, ok := candidates.Take(0)
		if !ok {
			return row, nil, s, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
		}
		if err = ctx.Err(); err != nil {
			return row, nil, s, err
		}

		row = f.dir.row(r.Namespace, next.Worker)
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
