package filelease

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	stateSuffix = ".json"
	lockSuffix  = ".lock"
	tempSuffix  = ".tmp"

	folderMode = 0o700
	fileMode   = 0o600 // the token is the owner's secret
)

// fileRow is a worker on disk: the state file at path, and the lock file beside it. There are two files because a state
// is replaced by a rename, and a lock stays with the file that was opened. The lock file is never removed.
type fileRow struct {
	path string
	// Whose state it must be; any if namespace is "".
	namespace string
	worker    int64
}

// lock takes the row's lock, which is held as long as the returned file is open. It returns nil if the lock is held.
func (r fileRow) lock() (*os.File, error) {
	for {
		f, err := os.OpenFile(r.path+lockSuffix, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, err
		}
		ok, err := lockFile(f)
		if err != nil || !ok {
			return nil, errors.Join(err, f.Close())
		}
		if r.locks(f) {
			return f, nil
		}
		// The lock file was removed between the two calls.
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// unlock ends a lock. Closing alone would not: a child that was just forked has a copy of the open file until its exec.
func unlock(lock *os.File) error { return errors.Join(unlockFile(lock), lock.Close()) }

// locks reports whether f, which is locked, is still the row's lock file.
func (r fileRow) locks(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(r.path + lockSuffix)
	return err == nil && os.SameFile(mine, named)
}

// read returns the state, and false if there is none. States are replaced by a rename, so it reads a complete one, with
// or without the lock.
func (r fileRow) read() (s fileState, ok bool, err error) {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	defer f.Close()                                            //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, longestState+1)) // a longer one has no checksum at its end
	if err != nil {
		return s, false, err
	}
	s, err = decodeState(text)
	if err != nil {
		return s, false, fmt.Errorf("%w: %s: %w", lease.ErrDamaged, r.path, err)
	}
	if r.namespace != "" && (s.Namespace != r.namespace || s.Worker != r.worker) {
		return s, false, fmt.Errorf("%w: %s is the state of worker %d in namespace %q, not of worker %d in namespace %q",
			lease.ErrDamaged, r.path, s.Worker, s.Namespace, r.worker, r.namespace)
	}
	return s, true, nil
}

// claim returns the row's lock and its state, fresh if there is none. The lock is nil if it is held.
func (r fileRow) claim(fresh fileState) (*os.File, fileState, error) {
	lock, err := r.lock()
	if err != nil {
		return nil, fresh, fmt.Errorf("lease: file store: %w", err)
	}
	if lock == nil {
		return nil, fresh, nil
	}
	s, ok, err := r.load(lock)
	if err != nil {
		return nil, fresh, errors.Join(err, unlock(lock))
	}
	if !ok {
		s = fresh
	}
	return lock, s, nil
}

// load is like read, for a caller that holds the lock. A row that was used once and has no state is an error, since it
// would start at the horizon 0 again.
func (r fileRow) load(lock *os.File) (s fileState, ok bool, err error) {
	s, ok, err = r.read()
	if ok || err != nil {
		return s, ok, err
	}
	info, err := lock.Stat()
	if err == nil && info.Size() > 0 {
		err = fmt.Errorf("%w: %s is missing: %s says that there was one", lease.ErrDamaged, r.path, lock.Name())
	}
	return s, false, err
}

// write makes the state durable. After an error the file may hold the old state or this one.
func (r fileRow) write(s fileState) error {
	text, err := s.encode()
	if err != nil {
		return err
	}
	return writeDurably(r.path, text)
}

// mark records in the lock file that there is a state, for load.
func (r fileRow) mark(lock *os.File) error {
	info, err := lock.Stat()
	if err != nil || info.Size() > 0 {
		return err
	}
	_, err = lock.WriteAt([]byte("The state is in "+filepath.Base(r.path)+".\n"), 0)
	return err
}

// syncFile is fsync(2). Tests replace it.
var syncFile = (*os.File).Sync

// writeDurably replaces the file at path. A reader, even after a power cut, finds the old text or the new one.
func writeDurably(path string, text []byte) error {
	temp := path + tempSuffix // one name is enough, since only the owner of the lock writes
	err := writeSynced(temp, text)
	if err == nil {
		err = replaceFile(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp) // frees space on a full disk; the first error is returned
	}
	return err
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		// The order of Acquire depends on this time. The kernel would set it from a clock that moves every few
		// milliseconds.
		now := time.Now()
		err = os.Chtimes(path, now, now)
	}
	if err == nil {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
}
