package lease

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// claimState is what the protocol knows. It is used by one goroutine at a time.
type claimState struct {
	claim    leasestore.Claim // without an Epoch: none
	held     bool             // the generator uses the worker
	token    string           // of an acquisition that has not led to a claim yet
	mayHold  bool             // the store may have a worker under the token
	previous string           // the row's token before the last extension of the claim
	table    string           // of the claim's grant
	warning  error            // of the claim's grant

	from        int64  // the horizon that the claim started at
	horizon     int64  // committed by the store under the claim; less than that if clocks were set back meanwhile
	requested   int64  // the horizon of the last extension; its outcome is unknown if the claim has a Next
	resumes     int64  // the tick of the next ID when the generator's clock was set back
	forgets     bool   // the store may forget what it has committed
	confirmedAt moment // when the call began that has confirmed the claim last

	reduced  reducedWindow // instead of the window, for a while
	skew     time.Duration // of the wall clock against the store's
	retries  int           // calls in a row that the store has not answered
	timedOut bool          // the last one has had all of its time
	noWorker int           // acquisitions in a row for which all workers were held
	released bool          // nothing is left to give back
}

// grant starts a claim, whose first tick is from. No horizon is committed under it yet.
func (s *claimState) grant(g leasestore.Grant, from int64) {
	s.claim, s.from, s.table, s.warning, s.forgets = g.Claim, from, g.Table, g.Warning, g.Forgets
	s.token, s.previous, s.horizon, s.requested = "", "", 0, 0
}

// unused returns the first tick that no ID can have been issued for under the claim. next counts only if the generator
// has used the claim: otherwise it is about an earlier worker.
func (s *claimState) unused(next int64) int64 {
	if !s.held {
		return s.from
	}
	return max(s.from, next)
}
