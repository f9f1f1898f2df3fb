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

func (o observer) wait(w snowflake.Wait) {
	reason := "clock"
	if w.Lease {
		reason = "lease"
	}
	o.record(o.meter.instruments.wait, attribute.String(reasonKey, reason), w.Took, w.Err)
}

func (o observer) event(e lease.Event) {
	if e.Kind == lease.Called {
		o.record(o.meter.instruments.call, attribute.String(callKey, e.Call), e.Took, e.Err)
	}
}

func (o observer) record(to metric.Float64Histogram, what attribute.KeyValue, took time.Duration, err error) {
	attributes := []attribute.KeyValue{attribute.String(generatorKey, o.name), what}
	if err != nil {
		attributes = append(attributes, attribute.String(errorKey, errorType(err)))
	}
	to.Record(context.Background(), took.Seconds(), metric.WithAttributes(attributes...))
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
