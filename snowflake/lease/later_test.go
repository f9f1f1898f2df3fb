package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestANamespaceOfALaterVersionStopsAProcessAtItsHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		l := mustOpen(t, store)
		require := store.(interface {
			Require(namespace, version string)
		}).Require
		require(lease.DefaultNamespace, "2")
		horizon := l.Status().Horizon
		if d := probed(t, l); d < lease.DefaultWindow/2 || d > 11*time.Second {
			t.Errorf("ready for %v, want half a window to a window", d)
		}
		var later *lease.VersionError
		if err := probe(t, l); !errors.Is(err, snowflake.ErrLeaseStalled) || !errors.As(err, &later) || later.Version != "2" {
			t.Errorf("at the horizon: %v, want ErrLeaseStalled and a *VersionError", err)
		}
		if e := entry(t, store, l.Status().Worker); l.Status().Horizon != horizon || e.Epoch != 1 {
			t.Errorf("the horizon was %v and is %v; the row is %+v", horizon, l.Status().Horizon, e)
		}
		start := time.Now()
		if _, err := lease.Open(t.Context(), store, options(t)...); !errors.As(err, &later) || time.Since(start) > 0 {
			t.Errorf("Open: %v after %v, want a *VersionError at once", err, time.Since(start))
		}
		require(lease.DefaultNamespace, "") // as in a way back
		if d := probed(t, l, snowflake.ErrLeaseStalled); d > lease.DefaultWindow {
			t.Errorf("not ready for another %v: %v", d, l.Ready())
		}
		mustClose(t, l)
	})
}
