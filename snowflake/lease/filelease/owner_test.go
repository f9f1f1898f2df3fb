package filelease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestAReservationOutlivesItsProcess closes the store, as the end of the process would.
func TestAReservationOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	century := workerRequest(1, 1)
	century.TTL, century.Holder.Host = 100*365*24*time.Hour, "reserved for orders"
	first := newFile(t, dir)
	claim := acquire(t, first, century).Claim
	for _, before := range []bool{true, false} {
		if !before {
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
		}
		second := newFile(t, dir)
		if again := acquire(t, second, century).Claim; again != claim {
			t.Errorf("another process has %+v, want %+v", again, claim)
		}
		other := century
		other.Token = fileRequest(2, 1).Token
		if _, err := second.Acquire(t.Context(), other); !errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("another token: %v, want ErrNoWorker", err)
		}
		if entries, err := second.List(t.Context(), claim.Namespace); err != nil || len(entries) != 1 || !entries[0].Reserved() {
			t.Errorf("%+v, %v, want a reservation", entries, err)
		}
		if !before { // given back, it is a worker like any other
			if err := second.Release(t.Context(), claim, 0); err != nil {
				t.Fatal(err)
			}
			other.TTL = time.Second
			if grant := acquire(t, newFile(t, dir), other); grant.Worker != 1 || grant.Epoch != 2 {
				t.Errorf("after the release: %+v", grant)
			}
		}
	}
}
