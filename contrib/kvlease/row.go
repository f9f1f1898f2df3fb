package kvlease

import (
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// format marks each value, with the version of the protocol at the end. A later version that needs to keep this one out
// writes another number into the key of the layout, and then into all rows.
const format = "sqlflake lease 1"

// header is the value of a namespace's key of the layout. It is written once, but for the floor.
type header struct {
	Format    string    `json:"format"`
	Namespace string    `json:"namespace"`
	Layout    string    `json:"layout"`
	Created   time.Time `json:"created"`        // differs from the time of a namespace that was deleted before
	Floor     time.Time `json:"floor,omitzero"` // for Grant.Floor, if there was one before
}

// row is the value of a worker's key.
type row struct {
	Format    string    `json:"format"`
	Namespace string    `json:"namespace"`
	Worker    int64     `json:"worker"`
	Epoch     int64     `json:"epoch"`
	Horizon   int64     `json:"horizon"`
	Free      bool      `json:"free"`    // given back
	Expires   time.Time `json:"expires"` // by the clock of the process that wrote it
	Token     string    `json:"token"`   // of the last owner
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
}

// held needs no clock for a worker that was given back.
func (r *row) held(now time.Time) bool { return !r.Free && now.Before(r.Expires) }

// hold sets the expiry, without the monotonic clock, which no other process has.
func (r *row) hold(ttl time.Duration, now time.Time) {
	r.Free, r.Expires = false, now.Add(ttl).Round(0).UTC()
}

// release keeps an expiry that has passed, so that it can be repeated and says since when the worker is free.
func (r *row) release(now time.Time) {
	if r.held(now) {
		r.Expires = now.Round(0).UTC()
	}
	r.Free = true
}

func (r *row) entry(layout string, now time.Time) leasestore.Entry {
	return leasestore.Entry{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: r.Worker, Epoch: r.Epoch},
		Layout:  layout,
		Horizon: r.Horizon,
		Expires: r.Expires,
		Held:    r.held(now),
		Holder:  leasestore.Holder{Host: r.Host, PID: r.PID, Version: r.Version},
	}
}

// unseal reads a value with the fields format and namespace.
func unseal(text []byte, value any, got, namespace *string) error {
	if err := checksummed.Unmarshal(text, value); err != nil {
		return err
	}
	return checksummed.CheckFormat(*got, format, *namespace)
}

func damaged(key string, err error) error {
	return checksummed.Damaged(fmt.Sprintf("key %q", key), err)
}
