package filelease

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Option is a setting for New and NewStateFile.
type Option interface{ applyFile(*fileConfig) }

type fileConfig struct{ network bool }

type fileOption func(*fileConfig)

func (f fileOption) applyFile(c *fileConfig) { f(c) }

// AllowNetworkFolder lets the folder be on a network file system, for a host
// whose only disk is one. Processes of this one host may then use it. Those of
// several must not: over NFS, flock is a lock of the server's (flock(2), "NFS
// details") with a lease of its own, which the server gives to others after a cut
// of the network (RFC 7530, section 9.6.3) before the owner notices. Use a
// database for them.
func AllowNetworkFolder() Option { return fileOption(func(c *fileConfig) { c.network = true }) }

// prepareFolder creates the folder and returns its absolute path, if it can hold
// a store.
func prepareFolder(dir string, opts []Option) (string, error) {
	var c fileConfig
	for _, opt := range opts {
		if opt == nil {
			return "", fmt.Errorf("%w: nil Option", lease.ErrOption)
		}
		opt.applyFile(&c)
	}
	if dir == "" {
		return "", fmt.Errorf("%w: the path of the file store is empty", lease.ErrOption)
	}
	// A process that changes its folder later keeps its store.
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeFolder(dir)
	}
	if err != nil {
		return "", fmt.Errorf("lease: file store: %w", err)
	}
	if name, err := networkFileSystem(dir); err != nil {
		return "", fmt.Errorf("lease: file store: %w", err)
	} else if name != "" && !c.network {
		return "", fmt.Errorf("%w: %s is on a network file system (%s), whose locks can be lost unnoticed",
			lease.ErrOption, dir, name)
	}
	if err := probeLocks(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// probeLocks finds out whether files can be written in the folder and whether a
// lock keeps others out: some file systems say yes to everybody.
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

// makeFolder creates a folder, and those above it, and makes that durable.
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

// namespaceFile says which namespace a folder is for, and with which layout.
type namespaceFile struct {
	Namespace string `json:"namespace"`
	Layout    string `json:"layout"`
}

const (
	namespaceFileName = "namespace" + stateSuffix
	pollFirst         = time.Millisecond
	pollLast          = 25 * time.Millisecond
)

// useNamespace notes the request's layout at the first use of a namespace, and
// compares it at every other. The namespace is locked.
func useNamespace(folder string, r lease.Request) error {
	used, err := readNamespace(folder)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := encodeJSON(namespaceFile{Namespace: r.Namespace, Layout: r.Layout})
		if err == nil {
			// The process that created the folder may have died before it was durable.
			err = errors.Join(syncFolder(filepath.Dir(folder)), writeDurably(filepath.Join(folder, namespaceFileName), text))
		}
		if err != nil {
			return fmt.Errorf("lease: file store: %w", err)
		}
		return nil
	}
	switch {
	case err != nil:
		return err
	case used.Namespace != r.Namespace:
		return fmt.Errorf("%w: %s is for namespace %q, not %q", lease.ErrDamaged, folder, used.Namespace, r.Namespace)
	case used.Layout != r.Layout:
		return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, used.Layout, r.Layout)
	}
	return nil
}

func readNamespace(folder string) (used namespaceFile, err error) {
	path := filepath.Join(folder, namespaceFileName)
	text, err := os.ReadFile(path)
	if err != nil {
		return used, err
	}
	if err := json.Unmarshal(text, &used); err != nil {
		return used, fmt.Errorf("%w: %s: %w", lease.ErrDamaged, path, err)
	}
	if again, err := encodeJSON(used); err != nil || !bytes.Equal(again, text) {
		return used, fmt.Errorf("%w: %s: not as it was written", lease.ErrDamaged, path)
	}
	return used, nil
}

// turn waits until no other goroutine acquires or lists.
func (f *Store) turn(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case f.turns <- struct{}{}:
		return func() { <-f.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lockNamespace keeps other processes from choosing a worker at the same time.
func (f *Store) lockNamespace(ctx context.Context, namespace string) (unlock func(), err error) {
	row := fileRow{path: filepath.Join(f.folder(namespace), namespaceFileName)}
	lock, err := waitForLock(ctx, row)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil // nothing was written to it
}

// waitForLock asks again and again, since a wait in the kernel knows no context.
func waitForLock(ctx context.Context, row fileRow) (*os.File, error) {
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		lock, err := row.lock()
		if err != nil {
			return nil, fmt.Errorf("lease: file store: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("lease: waiting for %s, which another process has locked: %w", row.path+lockSuffix, err)
		}
	}
}

func checkFileRequest(ctx context.Context, r lease.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if !utf8.ValidString(r.Layout) { // JSON would change it
		return fmt.Errorf("%w: the layout %q is not UTF-8", lease.ErrOption, r.Layout)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
