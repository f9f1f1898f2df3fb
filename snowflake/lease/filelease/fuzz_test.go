package filelease_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// goodState returns the text of a state file with the horizon 4711.
func goodState(f *testing.F) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), "worker.json")
	s, err := filelease.NewStateFile(path)
	if err != nil {
		f.Fatal(err)
	}
	g, err := s.Acquire(f.Context(), workerRequest(1, 12))
	if err != nil {
		f.Fatal(err)
	}
	g.Next = g.Token
	if _, err := s.Extend(f.Context(), g.Claim, 4711, workerRequest(1, 12).TTL); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

// Any content of a state file is either rejected or is, byte for byte, a state that the store writes.
func FuzzStateFile(f *testing.F) {
	good := goodState(f)
	f.Add(good)
	for _, damage := range damages {
		f.Add(damage(good))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		epoch, horizon, again, err := filelease.DecodeStateFile(text)
		if err != nil {
			return
		}
		if !bytes.Equal(again, text) {
			t.Errorf("accepted %q, which is written as %q", text, again)
		}
		if epoch < 1 || horizon < 0 {
			t.Errorf("accepted the epoch %d and the horizon %d", epoch, horizon)
		}
	})
}
