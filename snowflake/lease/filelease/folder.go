package filelease

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/pause"
)

// Option is a setting for New and NewStateFile. A nil Option is an error that matches lease.ErrOption.
type Option interface{ apply(*config) error }

type config struct{ network bool }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// AllowNetworkFolder permits a folder on a network file system, for a host whose only disk is one. Only processes of
// this one host may use it: over NFS, flock is a lock of the server (flock(2), "NFS details") with a lease of its own,
// which the server gives to others after a network failure (RFC 7530, section 9.6.3) before the owner notices.
// Processes of several hosts need a database.
func AllowNetworkFolder() Option {
	return optionFunc(func(c *config) error {
		c.network = true
		return nil
	})
}

// prepareFolder creates the folder and returns its absolute path, if it can hold a store.
func prepareFolder(dir string, opts []Option) (string, error) {
	var c config
	for _, opt := range opts {
		if opt == nil {
			return "", fmt.Errorf("%w: nil Option", lease.ErrOption)
		}
		if err := opt.apply(&c); err != nil {
			return "", err
		}
	}
	if dir == "" {
		return "", fmt.Errorf("%w: the path of the file store is empty", lease.ErrOption)
	}
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
	} else if name != "" && !c.network {
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

// namespaceFile records which namespace a folder is for, and its layout.
type namespaceFile struct {
	Namespace string `json:"namespace"`
	Layout    string `json:"layout"`
}

const (
	namespaceFileName = "namespace" + stateSuffix
	pollFirst         = time.Millisecond
	pollLast          = 25 * time.Millisecond
)

// useNamespace records the request's layout at the first use of a namespace, and compares it later. The namespace is
// locked.
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

// turn waits until no other goroutine of the process acquires or lists.
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
		if err := pause.For(ctx, wait); err != nil {
			return nil, fmt.Errorf("lease: waiting for %s, which another process has locked: %w", row.path+lockSuffix, err)
		}
	}
}

func checkRequest(ctx context.Context, r lease.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if !utf8.ValidString(r.Layout) { // JSON would store another text
		return fmt.Errorf("%w: the layout %q is not UTF-8", lease.ErrOption, r.Layout)
	}
	return nil
}

const (
	namespacePrefix = "ns-" // so that no name is ".", "..", or one that Windows reserves, such as "con"
	longestName     = 200   // of a folder, in bytes; file systems allow 255
)

// namespaceFolder returns the name of the folder of a namespace. No two namespaces have the same, even if file names
// ignore case: small letters, digits, '-', '_' and '.' stay, other bytes are "%" and two hexadecimal digits; if that is
// too long for a file name, all of it is base32.
func namespaceFolder(namespace string) string {
	const digits = "0123456789abcdef"
	name := []byte(namespacePrefix)
	for i := range len(namespace) {
		c := namespace[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.' && i < len(namespace)-1: // Windows drops a dot at the end
			name = append(name, c)
		default:
			name = append(name, '%', digits[c>>4], digits[c&15])
		}
	}
	if len(name) <= longestName {
		return string(name)
	}
	code := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(namespace))
	return namespacePrefix + "=" + strings.ToLower(code)
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
