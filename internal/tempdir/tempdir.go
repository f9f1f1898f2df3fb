// Package tempdir creates temporary folders and finds those whose process has ended: a process holds a lock in its
// folder until it ends. On Windows, which has no such locks, a folder in use cannot be removed because a file in it is
// open.
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"github.com/sqlflake/sqlflake/internal/filelock"
)

// The prefixes of the folders' names: of a benchmark's files, and of a database server.
const (
	Files  = "sqlflake-storage-"
	Server = "sqlflake-srv-" // short, because the path of a socket in it has a limit of about 100 bytes
)

const lockName = "lock"

// Dir is a folder with its lock.
type Dir struct {
	Path string
	lock *os.File
}

// New creates a folder in parent; empty: in the system's folder for temporary files. Its name is the prefix and a
// number.
func New(parent, prefix string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	if err = filelock.Lock(file); err == nil {
		_, err = file.WriteString("locked\n") // an empty file tells Clean that the lock is not held yet
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.RemoveAll(path))
	}
	return &Dir{Path: path, lock: file}, nil
}

// Remove removes the folder.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// Left returns the folders in parent that ended processes did not remove.
func Left(parent, prefix string) []string {
	var left []string
	each(parent, prefix, func(path string) { left = append(left, path) })
	return left
}

// Clean removes those folders and returns their paths.
func Clean(parent, prefix string) (removed []string, err error) {
	each(parent, prefix, func(path string) {
		if failed := os.RemoveAll(path); failed != nil {
			err = errors.Join(err, failed)
			return
		}
		removed = append(removed, path)
	})
	return removed, err
}

// each calls f with each folder of New that is not locked, and holds the lock meanwhile.
func each(parent, prefix string, f func(path string)) {
	if parent == "" {
		parent = os.TempDir()
	}
	name := regexp.MustCompile("^" + prefix + "[0-9]+$")
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !name.MatchString(entry.Name()) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue // not a folder of New
		}
		if info, err := file.Stat(); err == nil && info.Size() > 0 && filelock.Lock(file) == nil {
			f(path)
		}
		_ = file.Close()
	}
}
