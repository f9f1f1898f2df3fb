package promsnowflake

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// observer has a histogram for each operation.
type observer map[snowflake.Operation]figures

type figures struct {
	took   prometheus.Observer
	failed prometheus.Counter
	fails  func(error) bool
}

func (c *Collector) observerOf(name string, leased bool) observer {
	wait := func(reason string) figures {
		return figures{
			c.waits.WithLabelValues(name, reason), c.waitErrors.WithLabelValues(name, reason),
			func(err error) bool { return err != nil },
		}
	}
	call := func(op snowflake.Operation) figures {
		return figures{c.calls.WithLabelValues(name, string(op)), c.callErrors.WithLabelValues(name, string(op)), storeFailed}
	}
	if !leased {
		return observer{snowflake.OpWait: wait("clock")}
	}
	return observer{
		snowflake.OpWait:    wait("clock"),
		snowflake.OpStall:   wait("lease"),
		snowflake.OpAcquire: call(snowflake.OpAcquire),
		snowflake.OpExtend:  call(snowflake.OpExtend),
		snowflake.OpRelease: call(snowflake.OpRelease),
	}
}

// storeFailed reports whether the store has failed: it has neither answered that the worker is lost or that none is
// free, nor was the call ended by lease.Close.
func storeFailed(err error) bool {
	return err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, lease.ErrNoWorker) && !errors.Is(err, context.Canceled)
}

// observeCall receives the events of a lease.
func (o observer) observeCall(e lease.Event) {
	if e.Kind == lease.Called {
		o.Observe(snowflake.Operation(e.Call), e.Took, e.Err)
	}
}

// Observe implements snowflake.Observer.
func (o observer) Observe(op snowflake.Operation, took time.Duration, err error) {
	f, ok := o[op]
	if !ok {
		return
	}
	f.took.Observe(took.Seconds())
	if f.fails(err) {
		f.failed.Inc()
	}
}
