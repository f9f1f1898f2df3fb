// Package leasestore is the contract between a lease and the store that keeps it. Only the author of a store needs it:
// those who use leases open one with package lease, which passes what is here to a [Store]. Package leasetest tests a
// store.
package leasestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrOption is lease.ErrOption.
var ErrOption = errors.New("lease: invalid option")

// Store keeps the leases: one row for each worker of a namespace, with its epoch, the token of its owner, its horizon
// and its expiry. It must be safe for concurrent use by many goroutines and by many processes. Package leasetest tests
// this contract.
//
// A later version of this module may have to keep programs out that know nothing of what it stores, such as a share of
// the workers or a change of the layout. It marks the namespace in the store. From then on Acquire and Extend return a
// *VersionError: what Extend confirmed is older than the mark, so no such program issues anything above the horizons
// that are read after it. Release may also return it.
//
// After any other error than those named here it is unknown whether the store was changed; the caller repeats the call
// with the same token. An error that wraps os.ErrClosed says that the store was closed for good, which ends a lease.
type Store interface {
	// Acquire takes a worker that is free: it raises the row's epoch by one, stores the token and the holder, sets the
	// expiry to TTL from now by the store's own clock, and leaves the horizon as it is. It reads the horizon that it
	// returns only after that, so no earlier owner can still raise it. A worker that was never taken gets the epoch 1
	// and the horizon 0.
	//
	// Once a store finds out that it may have forgotten commits, as a promoted replica does, its grants have a Floor:
	// the time of that discovery, plus the greatest Reach of all requests of the namespace. Instead of that time it may
	// take a later horizon of an owner, which shows that clocks were ahead. It sets Grant.Forgets before. Until its
	// clock has reached the floor it lends only workers that have no row: the previous server may just have confirmed
	// an owner.
	//
	// A worker is free if it was never taken, or if the store's clock has reached its expiry. Acquire takes, in this
	// order: free workers whose horizon is not above Request.Tick, the one that has been free for the longest time
	// first; workers that were never taken, the lowest first; free workers whose horizon is above Tick.
	//
	// If a row of the namespace has the token of the request and has not expired, Acquire returns that one: the reply
	// to an earlier call was lost.
	//
	// It returns a *NoWorkerError (ErrNoWorker) if all workers are held, and ErrLayout, without a change, if the
	// namespace was first used with another layout. A TTL of a century or more reserves the worker: no lease gets it,
	// also on a store whose workers become free with their process, and from any process the token finds it again.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Extend raises the horizon to at least the given tick, never lowers it, sets the expiry to ttl from now by the
	// store's clock, and replaces the row's token by Claim.Next, if and only if the row still has the claim's epoch,
	// and Claim.Token or Claim.Next as its token. It also does so after the expiry, until another owner takes the
	// worker over. When it returns without an error the horizon and the token are durable. It returns the store's time,
	// or the zero Time if the store's clock is the caller's.
	//
	// A store that has found out that it may have forgotten commits may not know that another owner has taken the
	// worker. It returns ErrLost for a row that it has not confirmed since, unless the row's expiry lies more than
	// DefaultMaxSkew after the time of that discovery, or the claim is Unexpired after the store answered a call under
	// its present identity. Rows that it confirms expire later than DefaultMaxSkew after that time.
	//
	// Such a store also returns a *ReachError, without a change, while its replicas may not know yet that the namespace
	// allows Claim.Reach.
	//
	// The check and the change are one step: of two extensions with one Token and different Nexts one succeeds, so
	// copies of a process are found. A call can be repeated: the row may already have Next.
	//
	// Without a change it returns ErrLost, which is final, if the row has another epoch or token, and ErrOption if Next
	// is not a token.
	Extend(ctx context.Context, c Claim, horizon int64, ttl time.Duration) (now time.Time, err error)

	// Release makes the worker free at once and keeps its epoch. It lowers the horizon to the given tick, or to 0 if
	// that is negative, and never raises it. The next owner starts there. When Release returns nil the horizon is
	// durable.
	//
	// The owner calls Release after its last ID. The tick must be above the tick of each of its IDs, and not below
	// Grant.Horizon. If the outcome is unknown the owner repeats the call with the same tick. A late extension only
	// raises the horizon, which costs the next owner at most a wait.
	//
	// The row's token may be Claim.Token or, if that is set, Claim.Next, since an extension whose reply was lost may
	// have replaced it. Release keeps the token, so it can be repeated until another owner takes the worker. It returns
	// ErrLost, without a change, if the row has another epoch or token.
	Release(ctx context.Context, c Claim, horizon int64) error

	// List returns the rows of a namespace in the order of their workers, or for "" the rows of all namespaces, ordered
	// by namespace first. Expired rows are included.
	List(ctx context.Context, namespace string) ([]Entry, error)
}

// Request is an acquisition.
type Request struct {
	Namespace   string        // whose workers; 1 to 100 bytes of UTF-8 without a zero byte
	Layout      string        // text of the layout, the same for all of a namespace; at most 1000 bytes
	First, Last int64         // the workers that may be taken, both inclusive, from 0
	Token       string        // 32 random hexadecimal digits, 0-9 and a-f; the same again after an unknown outcome
	TTL         time.Duration // until the expiry, at least a millisecond
	Reach       time.Duration // how far ahead of a right clock the caller's horizons are at most; 0 or more
	Tick        int64         // of the caller's clock, since the layout's epoch; any value
	Holder      Holder        // the caller, for List
}

// Claim is the proof of an ownership.
type Claim struct {
	Namespace string
	Worker    int64
	Epoch     int64  // the fencing number: how often the worker has been taken
	Token     string // of the request, and of the last extension after one
	Next      string // the token that an extension puts in the place of Token, of the same form; empty after Acquire

	// Two facts about an extension, for a store that may have forgotten what it had committed.
	Deadline Deadline      // the lease can't have expired before; nil: unknown
	Reach    time.Duration // how far ahead of a right clock the new horizon is at most
}

// Deadline is a time by the clocks of an owner.
type Deadline interface {
	IsAhead() bool // no clock of the owner has reached it
}

// Unexpired reports whether the lease can't have expired by now.
func (c Claim) Unexpired() bool { return c.Deadline != nil && c.Deadline.IsAhead() }

// Grant is a worker that was acquired.
type Grant struct {
	Claim
	Horizon int64     // first tick that no earlier owner can have issued an ID for, as far as the store knows
	Floor   time.Time // owners that the store has forgotten can have issued IDs up to it; zero if it has forgotten none
	Now     time.Time // of the store's clock; zero if that is the caller's
	Table   string    // where an SQL store keeps the lease, with the schema if the database reports it; else empty

	// Forgets says that the store may find out that it has forgotten commits: the owner's horizons stay within its
	// reach.
	Forgets bool

	// Warning is what limits the store's promises, such as a right that it lacks. The lease reports it in the event
	// Acquired.
	Warning error
}

// Holder identifies a process, for people.
type Holder struct {
	Host    string
	PID     int
	Version string // of the program (WithVersion)
}

// Entry is a row, for people.
type Entry struct {
	Claim   // without the tokens, which are the owner's secret
	Layout  string
	Horizon int64     // in ticks since the layout's epoch
	Expires time.Time // by the store's clock; zero for stores without an expiry
	Held    bool      // not expired, by the store's clock
	Holder  Holder    // the last one
}

const reservedHost = "reserved for " // no host has this name

// Reserved reports whether the worker is kept out of all leases by lease.Lease.Reserve.
func (e Entry) Reserved() bool { return e.Held && e.Holder.ReservedFor() != "" }

// ReservedHolder returns the holder of a worker that is reserved for a purpose.
func ReservedHolder(purpose string) Holder { return Holder{Host: reservedHost + purpose} }

// ReservedFor returns the purpose of a worker that is reserved, and "" for the holder of a lease.
func (h Holder) ReservedFor() string {
	purpose, isReserved := strings.CutPrefix(h.Host, reservedHost)
	if !isReserved {
		return ""
	}
	return purpose
}

// HorizonTime returns the horizon as a time, and false if snowflake.ParseLayout does not know the layout's text.
func (e Entry) HorizonTime() (time.Time, bool) {
	layout, err := snowflake.ParseLayout(e.Layout)
	return layout.Start(e.Horizon), err == nil // the zero Time for the zero Layout
}

// What a [Request] may have.
const (
	maxNamespace = 100  // bytes
	maxLayout    = 1000 // bytes
	tokenDigits  = 32   // hexadecimal, so 128 bits
	minTTL       = time.Millisecond
)

// Validate returns an error that matches [ErrOption] and names the value and the limit if a field is not as [Request]
// says. Every Store calls it first in Acquire.
func (r Request) Validate() error {
	isLong := len(r.Namespace) > maxNamespace
	isText := utf8.ValidString(r.Namespace) && !strings.ContainsRune(r.Namespace, 0) // some databases store no other

	return cmp.Or(
		invalid(r.Namespace == "" || isLong, "the namespace %.20q has %d bytes, want 1 to %d",
			r.Namespace, len(r.Namespace), maxNamespace),
		invalid(!isText, "the namespace %q is not UTF-8 without zero bytes", r.Namespace),
		invalid(len(r.Layout) > maxLayout, "the layout's text has %d bytes, at most %d are allowed",
			len(r.Layout), maxLayout),
		invalid(r.First < 0, "the first worker is %d, the lowest is 0", r.First),
		invalid(r.Last < r.First, "the last worker, %d, is below the first, %d", r.Last, r.First),
		invalid(r.Reach < 0, "the reach is %v, the least is 0", r.Reach),
		validate("token", r.Token, r.TTL),
	)
}

// ValidateExtension returns an error that matches [ErrOption] if the claim's Next is not a token as [Request] has, or
// the TTL is below a millisecond, the unit in which stores keep an expiry. Every Store calls it first in Extend.
func ValidateExtension(c Claim, ttl time.Duration) error { return validate("next token", c.Next, ttl) }

// validate rejects capitals, too: a database that ignores case would take two tokens for the same.
func validate(what, token string, ttl time.Duration) error {
	isToken := len(token) == tokenDigits && strings.Trim(token, "0123456789abcdef") == ""
	return cmp.Or(
		// The value is not printed: it may be a mistyped secret.
		invalid(!isToken, "the %s has %d characters or other digits than 0-9 and a-f, want %d of these",
			what, len(token), tokenDigits),
		invalid(ttl < minTTL, "the TTL is %v, at least %v is needed", ttl, minTTL),
	)
}

// invalid returns an error that matches ErrOption if something is wrong.
func invalid(isWrong bool, format string, args ...any) error {
	if !isWrong {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
}
