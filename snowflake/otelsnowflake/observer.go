package otelsnowflake

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute" //nolint:depguard // this module exists to keep the client out of the core's
	"go.opentelemetry.io/otel/metric"    //nolint:depguard // as above

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	generatorKey = "snowflake.generator"
	reasonKey    = "snowflake.wait.reason"
	callKey      = "snowflake.lease.call"
	errorKey     = "error.type"
)

type observer struct {
	meter *Meter
	name  string
}

// observeCall receives the events of a lease.
func (o observer) observeCall(e lease.Event) {
	if e.Kind == lease.Called {
		o.Observe(snowflake.Operation(e.Call), e.Took, e.Err)
	}
}

// Observe implements snowflake.Observer.
func (o observer) Observe(op snowflake.Operation, took time.Duration, err error) {
	var what attribute.KeyValue
	histogram := o.meter.instruments.call
	switch op {
	case snowflake.OpWait:
		histogram, what = o.meter.instruments.wait, attribute.String(reasonKey, "clock")
	case snowflake.OpStall:
		histogram, what = o.meter.instruments.wait, attribute.String(reasonKey, "lease")
	case snowflake.OpAcquire, snowflake.OpExtend, snowflake.OpRelease:
		what = attribute.String(callKey, string(op))
	default:
		return
	}
	attributes := []attribute.KeyValue{attribute.String(generatorKey, o.name), what}
	if err != nil {
		attributes = append(attributes, attribute.String(errorKey, errorType(err)))
	}
	histogram.Record(context.Background(), took.Seconds(), metric.WithAttributes(attributes...))
}

func errorType(err error) string {
	switch {
	case errors.Is(err, lease.ErrLost):
		return "lost"
	case errors.Is(err, lease.ErrNoWorker):
		return "no_worker"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, snowflake.ErrLeaseStalled):
		return "timeout"
	}
	return "_OTHER"
}
