package sqllease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Revoke takes a worker away from its owner and makes it free at once, although its lease has not expired. It is for a
// person who knows that the owner is dead, or who wants it to stop; of e, an entry that [Store.List] has returned, the
// namespace, the worker and the epoch count.
//
// This repeats no ID. To the protocol it is an acquisition by an owner that issues nothing: the epoch rises, the token
// changes, and the horizon stays, below which the owner may still issue. An owner that is alive finds out at its next
// extension, after half a window at most, and stops with [lease.ErrLost] or continues with another worker. IDs may
// repeat only if a replica without the revocation is promoted before that extension: then the owner keeps the worker
// there.
//
// It returns [lease.ErrLost], without a change, if the row has another epoch, so a worker that was taken again since
// List is safe, and for a worker that is reserved, which has no lease to lose.
func (s *Store) Revoke(ctx context.Context, e leasestore.Entry) error {
	var token [16]byte
	_, _ = rand.Read(token[:]) // never fails: crypto/rand
	lost := fmt.Errorf("%w, or is reserved: worker %d in namespace %q does not have epoch %d",
		lease.ErrLost, e.Worker, e.Namespace, e.Epoch)

	return s.end(ctx, "revoke", lost, textsOf[s.dialect].revoke, named{
		"token": hex.EncodeToString(token[:]), "namespace": e.Namespace, "worker": e.Worker, "epoch": e.Epoch,
	})
}

// PurposeSQL is what a worker is reserved for whose IDs functions in the database issue, as package sqlfunc makes them.
// A namespace that has one can't move to another layout.
const PurposeSQL = "SQL functions"
