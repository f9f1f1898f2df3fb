package filelease_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// Any content of a state file is either rejected or is, byte for byte, a state that the store writes.
func FuzzStateFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "worker.json")
	s := newStateFile(f, path)
	extend(f, s, acquire(f, s, workerRequest(1, 12)).Claim, 4711)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, damage := range damages {
		f.Add(damage(good))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		epoch, horizon, again, err := filelease.Reseal(text)
		if err != nil {
			return
		}
		if !bytes.Equal(again, text) || epoch < 1 || horizon < 0 {
			t.Errorf("accepted %q, which is written as %q", text, again)
		}
	})
}
