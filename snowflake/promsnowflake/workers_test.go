package promsnowflake_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/promsnowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

func TestTheWorkersOfTheNamespaceAreCountedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := open(t, s, lease.WithWorkers(0, 2))
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		collector.AddLease("orders", l)
		if n := len(scrape(t, registry)); n == 0 {
			t.Error("no metrics")
		}
		if _, ok := scrape(t, registry)["lease_workers orders"]; ok {
			t.Error("the workers were queried, which was not asked for")
		}
		collector.QueryWorkers(time.Minute)
		check := func(held float64, there bool) {
			t.Helper()
			got := scrape(t, registry)
			h, ok := got["lease_workers_held orders"]
			if a := got["lease_workers orders"]; h != held || ok != there || there && a != 3 {
				t.Errorf("%g of %g workers, %v; want %g of 3, %v", h, a, ok, held, there)
			}
		}
		check(1, true)
		more := open(t, s)
		time.Sleep(59 * time.Second)
		check(1, true)
		time.Sleep(2 * time.Second)
		check(2, true)
		s.set(0, true)
		time.Sleep(time.Minute)
		check(0, false)
		check(0, false)
		if n := scrape(t, registry)["lease_call_errors_total list orders"]; n != 1 {
			t.Errorf("%g errors of List, want 1", n)
		}
		s.set(0, false)
		time.Sleep(time.Minute)
		check(2, true)
		closeLease(t, l)
		closeLease(t, more)
	})
}

// hung never answers List.
type hung struct{ lease.Store }

func (hung) List(ctx context.Context, _ string) ([]lease.Entry, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAStoreThatDoesNotAnswerHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		collector.QueryWorkers(time.Minute)
		for i := range 8 { // in any order
			var s lease.Store = newStore()
			if i < 4 {
				s = hung{s}
			}
			l := open(t, s, lease.WithWorkers(1, 1))
			defer closeLease(t, l)
			collector.AddLease(strconv.Itoa(i), l)
		}
		start := time.Now()
		got := scrape(t, registry)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("a scrape takes %v", took)
		}
		for i := range 8 {
			if _, ok := got[fmt.Sprint("lease_workers_held ", i)]; ok != (i >= 4) {
				t.Errorf("the workers of lease %d are there: %v", i, ok)
			}
		}
	})
}

func TestPartitionsThatCanNotBeReadAreAProblem(t *testing.T) {
	var plan partition.Plan
	failure := errDown
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(promsnowflake.Partitions("orders", func(context.Context) (*partition.Plan, error) {
		return nil, errDown
	}))
	registry.MustRegister(promsnowflake.Partitions("events", func(ctx context.Context) (*partition.Plan, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("a database that does not answer holds the scrape up")
		}
		return &plan, failure
	}))
	if got := scrape(t, registry); len(got) != 2 || got["partition_problems events"] != 1 {
		t.Errorf("with an error: %v", got)
	}
	failure = nil
	plan.Now = time.Now()
	plan.Covered, plan.Overdue = plan.Now.Add(time.Hour), plan.Now.Add(-time.Minute)
	got := scrape(t, registry)
	if len(got) != 4 || got["partition_covered_seconds events"] != 3600 || got["partition_overdue_seconds events"] != 60 {
		t.Errorf("%v", got)
	}
}
