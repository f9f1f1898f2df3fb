package filelease

import (
	"os"

	"github.com/sqlflake/sqlflake/internal/checksummed"
)

// Reseal returns what a state file's text is decoded to, and encoded again.
func Reseal(text []byte) (epoch, horizon int64, again []byte, err error) {
	s, err := decodeState(text)
	if err != nil {
		return 0, 0, nil, err
	}
	again, err = checksummed.Marshal(s)
	return s.Epoch, s.Horizon, again, err
}

// Lock takes the lock beside path, as another process does while it chooses a worker.
func Lock(path string) (unlock func(), err error) {
	lock, err := fileRow{path: path}.lock()
	return func() { _ = lock.Close() }, err
}

// ReplaceSync replaces the flush of files and folders. The caller must be a test that runs alone.
func ReplaceSync(sync func(*os.File) error) (restore func()) {
	before := syncFile
	syncFile = sync
	return func() { syncFile = before }
}
