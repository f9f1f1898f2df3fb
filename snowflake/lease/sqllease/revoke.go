package sqllease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Revoke takes a worker away from its owner and makes it free at once, although its lease has not expired. It is for a
// person who knows that the owner is dead, or who wants it to stop; of e, an entry that [Store.List] has returned, the
// namespace, the worker and the epoch count.
//
// No ID comes twice by it: it raises the epoch and replaces the token, so that the owner can't extend any more, and keeps
// the horizon, below which the owner may still issue and where the next owner starts. To the protocol it is an acquisition
// by an owner that issues nothing. An owner that is alive finds out at its next extension, after half a window at most,
// and stops with [lease.ErrLost] or continues with another worker.
//
// There is one exception: the owner is alive, and before its next extension reaches the database a replica is promoted
// that lacks the revocation. If the lease would not have expired by then, this owner keeps the worker there, and IDs may
// repeat.
//
// It returns [lease.ErrLost], without a change, if the row has another epoch, so that a worker that was given back and
// taken again since List is safe, and for a worker that is reserved for functions of the database, which have no lease to
// lose.
func (s *Store) Revoke(ctx context.Context, e lease.Entry) error {
	var token [16]byte
	_, _ = rand.Read(token[:]) // never fails: crypto/rand
	changed, err := await(ctx, s, "revoke", func() (int64, error) {
		return s.change(ctx, "revoke", s.plain.revoke, hex.EncodeToString(token[:]), e.Namespace, e.Worker, e.Epoch)
	})
	if err == nil && changed == 0 {
		err = fmt.Errorf("%w, or is reserved for functions of the database: worker %d in namespace %q does not have epoch %d",
			lease.ErrLost, e.Worker, e.Namespace, e.Epoch)
	}
	return err
}
