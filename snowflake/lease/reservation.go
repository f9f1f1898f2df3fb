package lease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const reservedFor = 250 * 365 * 24 * time.Hour // a Duration ends at 292 years

// Reserve keeps a worker out of the leases of the namespace for ever, for IDs that no lease issues, such as new keys of
// old rows: call it at each start, before the first of them. The purpose says what the worker is for. A second call
// with the same one finds the reservation, also from another process; one at the same moment for another worker may
// reserve that, too, for ever. Two purposes need two workers: with a purpose for each table, no two tables have equal
// IDs.
//
// It returns ErrNoWorker, and reserves nothing, for a worker that is held, is reserved for another purpose, or was ever
// acquired: its past IDs could be equal to IDs of old rows. So could all, once the namespace has moved to another
// layout: make no more of them then. Leases take the highest number last. It returns ErrOption for a worker out of
// range, an empty purpose, one that has another worker, and a layout without a field for the worker; and the errors of
// Store.List, Store.Acquire and Store.Release: then call it again, or the worker may stay reserved. Call it outside of
// transactions.
//
// A failover of the store may lose a reservation. If a lease got the worker since, Reserve returns ErrNoWorker. It may
// also lose that a worker was acquired just before: don't reserve one of those that leases take.
func (l *Lease) Reserve(ctx context.Context, worker int64, purpose string) error {
	isWorker := l.layout.WorkerField() != "" && 0 <= worker && worker <= l.layout.MaxWorker()
	if !isWorker || purpose == "" {
		return fmt.Errorf("%w: worker %d of the layout %q can't be reserved for %q",
			ErrOption, worker, l.layout, purpose)
	}
	if err := l.checkUnused(ctx, worker); err != nil {
		return fmt.Errorf("lease: reserve worker %d of namespace %q: %w", worker, l.cfg.namespace, err)
	}

	token := sha256.Sum256([]byte("sqlflake reservation: " + purpose))
	holder := leasestore.ReservedHolder(purpose)
	holder.Version = l.cfg.holder.Version
	grant, err := l.store.Acquire(ctx, leasestore.Request{
		Namespace: l.cfg.namespace, Layout: l.layout.String(), First: worker, Last: worker,
		Token: hex.EncodeToString(token[:16]), TTL: reservedFor, Holder: holder,
	})

	switch {
	case err != nil:
	case grant.Worker != worker:
		err = fmt.Errorf("%w: worker %d is reserved for %s already", ErrOption, grant.Worker, purpose)
	case grant.Epoch > 1, grant.Horizon > 0: // it was used, or the namespace had another layout
		err = l.unreserve(ctx, grant)
	}
	if err != nil {
		return fmt.Errorf("lease: reserve worker %d of namespace %q: %w", worker, l.cfg.namespace, err)
	}
	return nil
}

// checkUnused returns ErrNoWorker for a worker that was ever acquired. Reserve calls it first because an Acquire would
// already store the purpose. It can't see an acquisition that comes after it: the grant shows that one.
func (l *Lease) checkUnused(ctx context.Context, worker int64) error {
	entries, err := l.store.List(ctx, l.cfg.namespace)
	for _, e := range entries {
		if e.Worker == worker && !e.Reserved() {
			err = fmt.Errorf("%w: it was acquired before", ErrNoWorker)
		}
	}
	return err
}

// unreserve gives a worker back, even when the context has ended: ErrNoWorker says that it has.
func (l *Lease) unreserve(ctx context.Context, grant leasestore.Grant) error {
	err := l.store.Release(ctx, grant.Claim, grant.Horizon)
	if err != nil && ctx.Err() != nil {
		more, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = l.store.Release(more, grant.Claim, grant.Horizon)
	}
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("give it back: %w", err)
	}
	return fmt.Errorf("%w: it may have issued IDs before", ErrNoWorker)
}
