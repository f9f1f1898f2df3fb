package lease

import (
	"context"
	"time"
)

// Store keeps the leases: one row for each worker of a namespace, with its epoch,
// the token of its owner, its horizon and its expiry. Package leasetest tests
// whether a Store keeps what is written here; implementations must be safe for
// concurrent use by many goroutines and by many processes.
//
// A method that returns any other error than those it names leaves open whether
// the store was changed: the caller asks again, with the same token. One that wraps os.ErrClosed
// says that the store was closed for good: a lease then stops asking.
type Store interface {
	// Acquire takes a worker that nobody holds: it raises the row's epoch by
	// one, puts in the token and the holder, sets the expiry to TTL from now by
	// the store's own clock, and leaves the horizon as it is. Only after that it
	// reads the horizon that it returns, so that no owner before can raise it any
	// more. A worker that was never taken has the epoch 1 and the horizon 0.
	//
	// A worker is free if it was never taken or if the store's clock has reached
	// its expiry. Of the free ones it takes those whose horizon is not above
	// Request.Tick before the others, and of these the one that has been free for
	// the longest time; numbers that were never taken come after them, lowest
	// first, and before those with a horizon above Tick.
	//
	// If a row of the namespace has the token of the request already, and is not
	// expired, Acquire returns that one: the reply to an earlier call was lost.
	//
	// It returns a *NoWorkerError (ErrNoWorker) if all are held, and ErrLayout if
	// the namespace was first used with another layout, without a change.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Extend raises the horizon to at least the given tick, never lowers it, and
	// sets the expiry to ttl from now by the store's clock, if and only if the
	// row still has the claim's epoch and token; an expiry that has passed is no
	// obstacle as long as nobody has taken the worker over. When it returns
	// without an error the horizon is durable. It returns the store's time, or
	// the zero Time if the store's clock is the caller's.
	//
	// It returns ErrLost, without a change, if the row has another epoch or
	// token. That is final: no later call for the claim will succeed.
	Extend(ctx context.Context, c Claim, horizon int64, ttl time.Duration) (now time.Time, err error)

	// Release makes the worker free at once, keeps its epoch, and lowers its
	// horizon to the given tick, at least 0, if it is above that; it never raises
	// it. So the owner gives back what it has not used, and whoever takes the worker
	// next starts there. When it returns without an error the horizon is durable.
	//
	// The owner calls it when it has issued its last ID, never before, with a tick
	// above that of each of its IDs and not below Grant.Horizon, and asks with the
	// same tick again if the outcome is unknown. That is what makes it safe: a
	// release that comes once more changes nothing, one that is late finds the next
	// owner's epoch, and an extension that is late raises the horizon again, which
	// costs the next owner a wait at most.
	//
	// It may be called again until somebody has taken the worker. It returns
	// ErrLost, without a change, if the row has another epoch or token.
	Release(ctx context.Context, c Claim, horizon int64) error

	// List returns the rows of a namespace in the order of their workers, those
	// of all namespaces for "", by namespace first. Expired ones are among them.
	List(ctx context.Context, namespace string) ([]Entry, error)
}

// Request is what Acquire asks for.
type Request struct {
	Namespace   string        // whose workers; 1 to 100 bytes
	Layout      string        // text of the layout, the same for all of a namespace
	First, Last int64         // the workers that may be taken, both inclusive
	Token       string        // 32 hexadecimal digits, random; the same again after an unknown outcome
	TTL         time.Duration // until the expiry, at least a millisecond
	Tick        int64         // of the caller's clock, in ticks since the layout's epoch
	Holder      Holder        // who asks, for List
}

// Claim is what an owner proves its ownership with.
type Claim struct {
	Namespace string
	Worker    int64
	Epoch     int64 // the fencing number: how often the worker has been taken
	Token     string
}

// Grant is a worker that was acquired.
type Grant struct {
	Claim
	Horizon int64     // first tick that no owner before can have issued an ID for
	Now     time.Time // of the store's clock; zero if that is the caller's
}

// Holder says which process holds a worker, for people.
type Holder struct {
	Host    string
	PID     int
	Version string // of the program, as it likes to be called
}

// Entry is a row, for people.
type Entry struct {
	Claim   // the token is empty: it is the owner's secret
	Layout  string
	Horizon int64     // in ticks since the layout's epoch
	Expires time.Time // by the store's clock; zero for stores without an expiry
	Held    bool      // not expired, by the store's clock
	Holder  Holder    // the last one
}
