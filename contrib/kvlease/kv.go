// Package kvlease keeps leases of worker numbers in a key-value engine that can compare and swap one key. The
// modules etcdlease and natslease use it. For another engine, such as Consul or DynamoDB, implement the three methods
// of [KV], in a separate module if that needs a client, and test the store with package leasetest:
//
//	store, err := kvlease.New(myKV)
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//
// Uniqueness depends on two promises of the engine alone: of several Swaps of one revision of a key one succeeds, and
// what a Swap has confirmed is not forgotten. A worker is lent, extended, released or called lost only after a Swap. So
// an outdated read costs a repetition and never an ID, nor, as long as it knows the namespace's layout, a worker.
//
// # Clocks
//
// Such engines have no clock that clients can read. A row has its expiry by the clock of its owner, and others compare
// it with theirs. An owner writes it every 4.5 to 5.5 s with the default window, 20 s ahead. So two processes whose
// clocks differ by more than about 14 s may take each other's workers, and by less while the engine does not answer;
// the losers continue with another worker, and no ID is repeated. lease.Open can't return lease.ErrClockSkew for a
// wrong system clock: keep the clocks in step.
//
// A worker that was given back is free at once. That of a killed process is free when the clocks of the others reach
// its expiry.
//
// # Keys and values
//
//	orders/layout                 the layout, when it was written, and whether there was one before
//	orders/0000000000000000007    worker 7: epoch, horizon, whether it was given back, expiry, token, holder
//
// Bytes of the name other than ASCII letters, digits, "-" and "_" are written as "=" and two hexadecimal digits. Values
// are JSON with a checksum, for people to read. A value that was edited, or a key of another program, is
// lease.ErrDamaged: nothing is lent from this namespace until it is restored.
//
// Do not delete keys. A worker without a row starts at the horizon 0, and repeats the IDs of an owner that still runs
// until its next extension, and longer if a clock is behind. If the layout was deleted as well, stores that have used
// the namespace, and engines that remember deleted keys, notice it: owners then start above a floor
// ([leasestore.Grant].Floor), 20 s ahead with the defaults. To be safe stop every process before, check the clocks, and
// wait for a window and 10 s.
//
// Each call reads one key and swaps it; an acquisition reads the whole namespace. If many processes start at once, the
// order in which workers are taken is approximate: after a conflict the store tries one of the next workers at random.
package kvlease

import (
	"context"
)

// KV is an engine, or a part of one that no other program uses. Keys consist of ASCII letters, digits, "-", "_", "=",
// and "/" between their parts; they differ if the case of a letter does. It must be safe for concurrent use.
//
// An engine that remembers keys that were deleted should also have the method
//
//	Existed(ctx context.Context, prefix string) (bool, error)
//
// which reports whether there have been keys with the prefix, as far as it can know. It is called when there are none,
// before a namespace is created: if it was deleted, the first IDs wait until the time of forgotten owners is over.
type KV interface {
	// Get returns the pair of a key. Revision is empty if there is none. It should know what was confirmed before the
	// call.
	Get(ctx context.Context, key string) (Pair, error)

	// List returns the pairs whose keys begin with the prefix, in any order. The prefix is empty or ends with "/". It
	// may be out of date, or show some keys as they were earlier than others.
	List(ctx context.Context, prefix string) ([]Pair, error)

	// Swap writes the value if the key still has the revision, or if revision is empty and there is no such key, as one
	// step. When it returns true, the value is durable and has another revision. It returns false if the key has
	// another revision. After an error it is unknown whether the value was written. A repetition inside of the engine's
	// client may make it return false although the value was written.
	Swap(ctx context.Context, key string, value []byte, revision string) (bool, error)
}

// Pair is a key with its value.
type Pair struct {
	Key   string
	Value []byte

	// Revision changes with each write of the key and never comes again. It is the engine's own, in any form, but not
	// empty.
	Revision string
}

// historian is such an engine.
type historian interface {
	Existed(ctx context.Context, prefix string) (bool, error)
}
