package filelease

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const (
	stateSuffix = ".json"
	lockSuffix  = ".lock"
	tempSuffix  = ".tmp"

	folderMode = 0o700
	fileMode   = 0o600 // the token is the owner's secret
)

// fileRow is a worker on disk: the state file at path, and its lock file. There are two files because a state is
// replaced by a rename, and a lock stays with the file that was opened. The lock file is never removed.
type fileRow struct {
	path      string
	namespace string // whose state it must be; any if it is ""
	worker    int64
	written   time.Time // of the last write, in the result of used: a worker that is free is so since then
}

// lock takes the row's lock, which is held as long as the returned file is open. It returns nil if the lock is held.
func (r fileRow) lock() (*os.File, error) {
	path := r.path + lockSuffix
	for {
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("lease: file store: %s is no regular file: remove it", path)
		}

		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, storeError(err)
		}
		ok, err := lockFile(f)
		if ok && r.locks(f) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil || !ok {
			return nil, storeError(err)
		}
		// The lock file was removed, or became a link, between the two calls.
	}
}

// unlock ends a lock. Closing alone would not: a child that was just forked has a copy of the open file until its exec.
func unlock(lock *os.File) error { return errors.Join(unlockFile(lock), lock.Close()) }

// locks reports whether f, which is locked, is still the row's lock file. A symbolic link in its place does not count:
// writes would go to whatever it points to.
func (r fileRow) locks(f *os.File) bool {
	mine, statErr := f.Stat()
	named, err := os.Lstat(r.path + lockSuffix)
	return errors.Join(statErr, err) == nil && os.SameFile(mine, named)
}

// read returns the state, and false if there is none. States are replaced by a rename, so it reads a complete one, with
// or without the lock. For a caller that holds the lock, a row that was used once and has no state is an error, since
// it would start at the horizon 0 again.
func (r fileRow) read(lock *os.File) (s fileState, ok bool, err error) {
	text, err := os.ReadFile(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && lock == nil:
		return s, false, nil
	case errors.Is(err, fs.ErrNotExist):
		info, err := lock.Stat()
		if err == nil && info.Size() > 0 {
			err = fmt.Errorf("%w: %s is missing: %s says that there was one", lease.ErrDamaged, r.path, lock.Name())
		}
		return s, false, err
	case err != nil:
		return s, false, storeError(err)
	}

	if s, err = decodeState(text); err != nil {
		return s, false, checksummed.Damaged(r.path, err)
	}

	isAnother := s.Namespace != r.namespace || s.Worker != r.worker
	if r.namespace != "" && isAnother {
		return s, false, fmt.Errorf(
			"%w: %s is the state of worker %d in namespace %q, not of worker %d in namespace %q",
			lease.ErrDamaged, r.path, s.Worker, s.Namespace, r.worker, r.namespace)
	}

	return s, true, nil
}

// syncFile is fsync(2). Tests replace it.
var syncFile = (*os.File).Sync

// write makes the state durable. Even after an error or a power cut, a reader finds either the old state or this one.
func (r fileRow) write(s fileState) error {
	s.Format = stateFormat
	text, err := checksummed.Marshal(s)
	if err != nil {
		return err
	}

	temp := r.path + tempSuffix // one name is enough, since only the owner of the lock writes
	if err = writeSynced(temp, text); err == nil {
		err = replaceFile(temp, r.path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(r.path))
	}
	if err != nil {
		_ = os.Remove(temp) // frees space on a full disk; the first error is returned
	}

	return err
}

func writeSynced(path string, text []byte) error {
	f, err := createNew(path)
	if err != nil {
		return err
	}

	_, err = f.Write(text)
	// The order of Acquire depends on this time. The kernel would set it from a clock that moves every few
	// milliseconds.
	now := time.Now()
	return errors.Join(err, os.Chtimes(path, now, now), syncFile(f), f.Close())
}

// createNew creates the file, in place of one that a killed process left. It never opens what is there: in a folder
// that others may write, that can be a link to a file of ours.
func createNew(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// storeError names the package in an error of the operating system, which names the file.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lease: file store: %w", err)
}

// stateFormat has the version of the protocol at the end.
const stateFormat = "sqlflake lease file 1"

// fileState is the content of a state file.
type fileState struct {
	Format    string `json:"format"`
	Namespace string `json:"namespace"`
	Worker    int64  `json:"worker"`
	Layout    string `json:"layout"`
	Epoch     int64  `json:"epoch"`
	Horizon   int64  `json:"horizon"`
	Token     string `json:"token"` // of the last owner
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Reserved  bool   `json:"reserved,omitempty"` // no lease gets the worker, whoever has the lock
}

// decodeState accepts only what checksummed.Marshal makes of a state, and not if a value is out of range.
func decodeState(text []byte) (s fileState, err error) {
	if err = checksummed.Unmarshal(text, &s); err == nil {
		err = checksummed.CheckFormat(s.Format, stateFormat, s.Namespace)
	}
	if err != nil {
		return s, err
	}

	isNegative := s.Worker < 0 || s.Horizon < 0
	if isEpoch := 1 <= s.Epoch && s.Epoch < math.MaxInt64; isNegative || !isEpoch {
		return s, fmt.Errorf("worker %d, epoch %d or horizon %d out of range", s.Worker, s.Epoch, s.Horizon)
	}
	return s, nil
}

func (s fileState) claim() leasestore.Claim {
	return leasestore.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch, Token: s.Token}
}

// ownedBy reports whether the claim owns the state, before its extension or after it.
func (s fileState) ownedBy(c leasestore.Claim) bool {
	hasToken := s.Token == c.Token || s.Token == c.Next
	isRow := s.Namespace == c.Namespace && s.Worker == c.Worker
	return isRow && s.Epoch == c.Epoch && hasToken
}

func (s fileState) entry(held bool) leasestore.Entry {
	return leasestore.Entry{
		Claim:   leasestore.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch},
		Layout:  s.Layout,
		Horizon: s.Horizon,
		Held:    held || s.Reserved,
		Holder:  leasestore.Holder{Host: s.Host, PID: s.PID, Version: s.Version},
	}
}
