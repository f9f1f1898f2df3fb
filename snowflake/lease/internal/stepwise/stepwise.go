// Package stepwise lets the simulator make the steps of a lease, in a time of its own. Package lease sets New.
package stepwise

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// New returns what lease.Open has before its first step: a *lease.Lease without a goroutine, and its controls. store is
// a lease.Store, options are of type []lease.Option.
var New func(store, options any) (lease any, controls Controls, err error)

// Controls are what the goroutine of a lease does, and what it knows.
type Controls struct {
	Step   func(ctx context.Context) (wait time.Duration, err error) // what is due
	Fail   func(error)                                               // what the goroutine does on an error
	GiveUp func()                                                    // what lease.Open does before it returns an error
	State  func() State
	Lessee *core.Lessee

	// Copy makes the lease, which has made no step, a copy of another one in the midst of its life, as in a cloned
	// virtual machine. Its generator continues at the tick next.
	Copy func(of any, next int64) error
}

// State is what the lease knows.
type State struct {
	Held    bool
	Retries int   // calls in a row that the store has not answered
	Claim   any   // a lease.Claim
	From    int64 // the horizon that the claim started at
	Asked   int64 // the highest horizon that was asked for under the claim
}
