// Package tempdir makes temporary folders of which it can be told later whether their process lives: it holds a lock until
// it ends. Where there are no locks, on Windows, a folder in use can't be removed, since a file in it is open.
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/filelock"
)

const (
	prefix   = "sqlflake-storage-"
	lockName = "lock"
	// young folders may not have their lock yet.
	young = time.Minute
)

var pattern = regexp.MustCompile("^" + prefix + "[0-9]+$")

// Dir is a folder with its lock.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a folder in parent; empty: where temporary folders are.
func New(parent string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	if err := filelock.Lock(file); err != nil {
		return nil, errors.Join(err, file.Close(), os.RemoveAll(path))
	}
	return &Dir{Path: path, lock: file}, nil
}

// Remove removes the folder.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// Left are the folders in parent whose processes have ended without removing them.
func Left(parent string) []string {
	var left []string
	each(parent, func(path string) { left = append(left, path) })
	return left
}

// Clean removes them and returns which they were.
func Clean(parent string) (removed []string, err error) {
	each(parent, func(path string) {
		if failed := os.RemoveAll(path); failed != nil {
			err = errors.Join(err, failed)
			return
		}
		removed = append(removed, path)
	})
	return removed, err
}

// each calls f with each folder of New's whose lock nobody holds, and holds it meanwhile.
func each(parent string, f func(path string)) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !pattern.MatchString(entry.Name()) || time.Since(info.ModTime()) < young {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue // somebody else's, or none of New's
		}
		if filelock.Lock(file) == nil {
			f(path)
		}
		_ = file.Close()
	}
}
