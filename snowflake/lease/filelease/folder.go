package filelease

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// prepareFolder creates the folder and returns its absolute path, if it can hold a store.
func prepareFolder(dir string) (string, error) {
	// Absolute, so that a process that changes its working directory keeps its store.
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeFolder(dir)
	}
	if err != nil {
		return "", fmt.Errorf("lease: file store: %w", err)
	}
	if name, err := networkFileSystem(dir); err != nil {
		return "", fmt.Errorf("lease: file store: %w", err)
	} else if name != "" {
		return "", fmt.Errorf("%w: %s is on a network file system (%s), whose locks can be lost without notice",
			lease.ErrOption, dir, name)
	}
	if err := probeLocks(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// probeLocks checks that files can be written in the folder, and that a lock keeps others out: some file systems grant
// every lock.
func probeLocks(dir string) (err error) {
	first, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("lease: file store: %w", err)
	}
	defer func() { err = errors.Join(err, first.Close(), os.Remove(first.Name())) }()
	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("lease: file store: %w", err)
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	ok, err := lockFile(first)
	if err == nil && ok {
		ok, err = lockFile(second)
		ok = !ok
	}
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("%w: the file system of %s does not keep locks", lease.ErrOption, dir), err)
	}
	return nil
}

// makeFolder creates a folder and its parents, and makes that durable.
func makeFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &os.PathError{Op: "mkdir", Path: dir, Err: errors.New("is a file")}
	case !errors.Is(err, fs.ErrNotExist):
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

const (
	pollFirst = time.Millisecond
	pollLast  = 5 * time.Millisecond
)

// waitForLock polls, since a wait in the kernel can't be ended by a context.
func waitForLock(ctx context.Context, row fileRow) (*os.File, error) {
	for wait := pollFirst; ; wait = min(2*wait, pollLast) {
		lock, err := row.lock()
		if err != nil {
			return nil, fmt.Errorf("lease: file store: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("lease: waiting for %s, which another process has locked: %w",
				row.path+lockSuffix, ctx.Err())
		}
	}
}

func (f *Store) folder(namespace string) string {
	return filepath.Join(f.dir, namespaceFolder(namespace))
}

func (f *Store) row(namespace string, worker int64) fileRow {
	if f.file != "" {
		return fileRow{path: f.file}
	}
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(f.folder(namespace), name), namespace: namespace, worker: worker}
}

const namespacePrefix = "ns-" // so that no name is one that Windows reserves, such as "con"

// Base32 of up to 100 bytes is a file name everywhere, and different also if file names ignore case.
var base32Name = base32.HexEncoding.WithPadding(base32.NoPadding)

func namespaceFolder(namespace string) string {
	return namespacePrefix + strings.ToLower(base32Name.EncodeToString([]byte(namespace)))
}

// namespaces returns those that have a folder.
func (f *Store) namespaces() ([]string, error) {
	found, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("lease: file store: %w", err)
	}
	var names []string
	for _, e := range found {
		code, ok := strings.CutPrefix(e.Name(), namespacePrefix)
		if name, err := base32Name.DecodeString(strings.ToUpper(code)); ok && err == nil {
			names = append(names, string(name))
		}
	}
	return names, nil
}

// workerOfFile returns the worker whose state a file holds, by the file's name.
func workerOfFile(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, stateSuffix)
	if !ok {
		return 0, false
	}
	worker, err := strconv.ParseInt(digits, 10, 64)
	return worker, err == nil && worker >= 0 && strconv.FormatInt(worker, 10) == digits
}
