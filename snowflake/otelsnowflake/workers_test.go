package otelsnowflake_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestTheWorkersOfTheNamespaceAreCountedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := open(t, s, lease.WithWorkers(0, 2))
		meter, reader := newMeter(t)
		meter.AddLease("orders", l)
		if n := len(scrape(t, reader)); n == 0 {
			t.Error("no metrics")
		}
		if _, ok := scrape(t, reader)["lease.worker.limit orders"]; ok {
			t.Error("the workers were queried, which was not asked for")
		}
		meter.QueryWorkers(time.Minute)
		var handled []error
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = append(handled, err) }))
		defer otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
		check := func(held float64, there bool, wantErr error) {
			t.Helper()
			handled = nil
			got := scrape(t, reader) // fails if the collection does: nothing would be exported
			err := errors.Join(handled...)
			h, ok := got["lease.worker.held orders"]
			if a := got["lease.worker.limit orders"]; h != held || ok != there || there && a != 3 || !errors.Is(err, wantErr) {
				t.Errorf("%g of %g workers, %v, %v; want %g of 3, %v, %v", h, a, ok, err, held, there, wantErr)
			}
			if _, ok := got["lease.held orders"]; !ok {
				t.Error("the other metrics are missing")
			}
		}
		check(1, true, nil)
		more := open(t, s)
		time.Sleep(59 * time.Second)
		check(1, true, nil)
		time.Sleep(2 * time.Second)
		check(2, true, nil)
		s.set(0, true)
		time.Sleep(time.Minute)
		check(0, false, errDown)
		check(0, false, nil)
		s.set(0, false)
		time.Sleep(time.Minute)
		check(2, true, nil)
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
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
		meter, reader := newMeter(t)
		meter.QueryWorkers(time.Minute)
		for i := range 8 { // in any order
			var s lease.Store = newStore()
			if i < 4 {
				s = hung{s}
			}
			l := open(t, s, lease.WithWorkers(1, 1))
			defer closeLease(t, l)
			meter.AddLease(strconv.Itoa(i), l)
		}
		start := time.Now()
		got := scrape(t, reader)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("a scrape takes %v", took)
		}
		for i := range 8 {
			if _, ok := got[fmt.Sprint("lease.worker.held ", i)]; ok != (i >= 4) {
				t.Errorf("the workers of lease %d are there: %v", i, ok)
			}
		}
	})
}
