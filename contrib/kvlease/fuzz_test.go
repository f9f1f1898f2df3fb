package kvlease

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
)

// A key belongs to one worker of one namespace, and has only characters that engines accept.
func FuzzKey(f *testing.F) {
	for _, name := range []string{"orders", "a b", "=", "=20", "ä/.*>", "", "layout"} {
		f.Add(name, int64(7))
	}

	f.Fuzz(func(t *testing.T, name string, worker int64) {
		worker = max(worker, 0)
		key := keyOf(name, worker)
		if rest := strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/"); rest != "" {
			t.Errorf("keyOf(%q, %d) = %q, which has %q", name, worker, key, rest)
		}

		if gotName, gotWorker, ok := parseKey(key); !ok || gotName != name || gotWorker != worker {
			t.Errorf("parseKey(%q) = %q, %d, %t; want %q, %d", key, gotName, gotWorker, ok, name, worker)
		}

		if gotName, gotWorker, ok := parseKey(name); ok && gotWorker >= 0 && keyOf(gotName, gotWorker) != name {
			t.Errorf("parseKey(%q) = %q, %d, whose key is another one", name, gotName, gotWorker)
		}
	})
}

// A row is read as it was written, and not if a byte of it was changed.
func FuzzRow(f *testing.F) {
	f.Add("orders", int64(7), int64(77), int64(1_000_000_001), "<a>", uint16(0), byte('x'))
	f.Fuzz(func(t *testing.T, namespace string, worker, horizon, expires int64, host string, at uint16, change byte) {
		r := row{
			Format: format, Namespace: strings.ToValidUTF8(namespace, "?"), Worker: max(worker, 0), Epoch: 1,
			Horizon: max(horizon, 0), Expires: time.Unix(0, expires).UTC(), Host: strings.ToValidUTF8(host, "?"),
		}

		text, err := checksummed.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}

		if got, err := readRow(Pair{Value: text}, r.Namespace, r.Worker); err != nil || got != r {
			t.Errorf("%s was read as %+v, %v; want %+v", text, got, err, r)
		}

		i := int(at) % len(text)
		if text[i] == change {
			return
		}

		text[i] = change
		if got, err := readRow(Pair{Value: text}, r.Namespace, r.Worker); err == nil {
			t.Errorf("%s was read as %+v", text, got)
		}
	})
}

// SetClock replaces the system clock of the store.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
