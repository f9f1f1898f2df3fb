// Package kvlease keeps leases of worker numbers in a key-value engine that can compare and swap one key. Its modules
// etcdlease and natslease are such stores for etcd and NATS JetStream. For another engine, such as Consul, implement the three
// methods of [KV] and test the store with package leasetest:
//
//	store, err := kvlease.New(myKV)
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//
// # What the engine must keep
//
// That no ID is issued twice depends on two promises of the engine alone: of several Swaps of one revision of a key one
// succeeds, and what a Swap has confirmed is not forgotten. A worker is lent, extended, released or called lost only
// after a Swap. So a read that is out of date costs a repetition and never an ID, nor, as long as it knows the
// namespace's layout, a worker.
//
// # Clocks
//
// Such engines have no clock that clients can read. A row has the time of its expiry by the clock of its owner, and
// others compare it with theirs. An owner writes it every 4.5 to 5.5 s with the default window, 20 s ahead. So two processes
// whose clocks differ by more than about 14 s may take each other's workers, and by less while the engine does not answer.
// An owner whose clock is behind by as much loses its worker to each process that starts. Who lost one continues with
// another. No ID is repeated.
//
// A worker that was given back is free at once. That of a process that was killed is blocked for the others until their
// clocks reach its expiry: the longer, the more its clock was ahead of theirs.
//
// lease.Open has no clock to compare with, so it does not return lease.ErrClockSkew for a wrong system clock: keep the
// clocks in step.
//
// # Keys and values
//
// A namespace has the keys
//
//	orders/layout                 the layout, when it was written, and whether there was one before
//	orders/0000000000000000007    worker 7: epoch, horizon, whether it was given back, expiry, token, holder
//
// Bytes of the name other than ASCII letters, digits, "-" and "_" are written as "=" and two hexadecimal digits. Values
// are JSON with a checksum, for people to read. A value that was edited, or a key of another program among them, is
// lease.ErrDamaged: nothing is lent from this namespace until it is restored.
//
// Do not delete keys. A worker without a row counts as never taken, so its next owner starts at the horizon 0. It repeats
// the IDs of an owner that still runs, until that one extends its lease the next time, after about half of a window, and
// also later if a clock is behind. If the layout was deleted with the rows, this is noticed: by stores that have used the
// namespace before, and by those on an engine that remembers deleted keys, as etcdlease and natslease say. Owners then
// start above a floor ([lease.Grant].Floor): that time, and a window, the lead and the accepted skew of the process that
// has noticed it, 20 s with the defaults. To be safe stop every process before a namespace is deleted, check the clocks,
// and wait for a window and 10 s.
//
// Each call reads one key and swaps it, and an acquisition reads the whole namespace. If many processes start at once,
// the order in which workers are taken is only approximately that of lease.Store: after a conflict the store tries one
// of the next workers at random.
package kvlease
