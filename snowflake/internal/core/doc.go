// Package core has the machinery of snowflake.Generator. Its words:
//
//   - The state of a worker is its position in its sequence of IDs: a tick and a sequence in one number.
//   - To take IDs is to move the state over them, by a compare-and-swap (advance). They belong to the call that did it.
//   - The lead is how far IDs may be ahead of the clock. IDs that are not further ahead are due.
//   - A call whose IDs are not due waits, after it has taken them. Before that it may have to queue, so that no more
//     than a second of IDs is taken ahead of time.
//   - A lessee changes the worker of its generator and the horizon below which the worker may take IDs. A call at the
//     horizon stalls: it waits for the lessee.
package core
