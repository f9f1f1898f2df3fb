package filelease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// fileOwners are the rows that one Store owns, with their open locks.
type fileOwners struct {
	relock sync.Mutex // held while a goroutine takes the lock of a released claim again
	mu     sync.Mutex
	rows   map[string]*fileOwner // by path
	closed bool
}

type fileOwner struct {
	row   fileRow
	claim lease.Claim // with a Next while a write that may have replaced the token has failed; written under both mutexes

	mu      sync.Mutex
	lock    *os.File // nil after drop
	durable int64    // the horizon that is known to be on the disk
	idle    bool     // nothing was written since the lock was taken
}

// take makes the caller of Acquire the owner of a row whose lock it holds and whose state is s. If that fails it closes
// the lock.
func (o *fileOwners) take(row fileRow, lock *os.File, s fileState, r lease.Request) (lease.Grant, error) {
	s.Epoch++
	s.Token, s.Holder = r.Token, fileHolder(r.Holder)
	err := row.write(s)
	if err == nil {
		err = row.mark(lock)
	}
	owner := &fileOwner{row: row, claim: s.claim(), lock: lock, durable: s.Horizon}
	if err == nil {
		err = o.add(owner)
	}
	if err != nil {
		return lease.Grant{}, errors.Join(fmt.Errorf("lease: taking worker %d: %w", s.Worker, err), lock.Close())
	}
	return lease.Grant{Claim: owner.claim, Horizon: s.Horizon}, nil
}

// again returns the grant of an earlier Acquire with the token.
func (o *fileOwners) again(r lease.Request) (grant lease.Grant, ok bool, err error) {
	row, c, ok := o.byToken(r.Namespace, r.Token)
	if !ok {
		return lease.Grant{}, false, nil
	}
	err = o.use(row, c, func(_ *fileOwner, s fileState) error {
		grant = lease.Grant{Claim: s.claim(), Horizon: s.Horizon}
		return nil
	})
	if errors.Is(err, lease.ErrLost) {
		return lease.Grant{}, false, nil
	}
	return grant, err == nil, err
}

func (o *fileOwners) extend(ctx context.Context, row fileRow, c lease.Claim, horizon int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.use(row, c, func(owner *fileOwner, s fileState) error {
		if horizon <= owner.durable && !owner.idle && owner.claim.Token == c.Next && owner.claim.Next == "" {
			return nil // there is no expiry to move
		}
		// What the file shows need not be on the disk: an earlier write may have failed before its flush.
		s.Horizon = max(s.Horizon, owner.durable, horizon)
		o.setTokens(owner, s.Token, c.Next) // a failed write may leave either
		s.Token = c.Next
		if err := row.write(s); err != nil {
			return fmt.Errorf("lease: extending worker %d: %w", c.Worker, err)
		}
		o.setTokens(owner, c.Next, "")
		owner.durable, owner.idle = s.Horizon, false
		return nil
	})
}

func (o *fileOwners) release(ctx context.Context, row fileRow, c lease.Claim, horizon int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.use(row, c, func(owner *fileOwner, s fileState) error {
		var err error
		if horizon = max(0, horizon); !owner.idle || horizon < s.Horizon {
			// A failed write may leave either horizon. Nothing is issued any more, so both are right.
			s.Horizon = min(max(s.Horizon, owner.durable), horizon)
			if err = row.write(s); err != nil { // its modification time is when the worker became free
				err = fmt.Errorf("lease: releasing worker %d: %w", c.Worker, err)
			}
		}
		return errors.Join(err, o.drop(owner))
	})
}

// use calls f with the owner of the claim's row, locked, and its state, or returns ErrLost.
func (o *fileOwners) use(row fileRow, c lease.Claim, f func(*fileOwner, fileState) error) error {
	for {
		owner, err := o.get(row, c)
		if err != nil {
			return err
		}
		done, err := o.try(owner, c, f)
		if done {
			return err
		}
	}
}

// try is use for an owner that another goroutine may have dropped; then it is not done.
func (o *fileOwners) try(owner *fileOwner, c lease.Claim, f func(*fileOwner, fileState) error) (done bool, err error) {
	owner.mu.Lock()
	defer owner.mu.Unlock()
	if owner.lock == nil {
		return false, nil
	}
	if !owner.row.locks(owner.lock) { // the lock file was removed, and another process may hold a new one
		err := o.drop(owner)
		return err != nil, err
	}
	s, ok, err := owner.row.load(owner.lock)
	switch {
	case err != nil:
		return true, err
	case !ok || !s.ownedBy(owner.claim): // the state was replaced from outside, or by a copy of this process
		return true, errors.Join(lostFile(c), o.drop(owner))
	case !s.ownedBy(c):
		return true, lostFile(c)
	}
	return true, f(owner, s)
}

// get returns the row's owner. If it has none, but the state has the claim, the worker was released, or the process
// that owned it has ended, and nobody has taken it over. The claim is still valid then, and get takes the lock again.
func (o *fileOwners) get(row fileRow, c lease.Claim) (*fileOwner, error) {
	if owner, err := o.find(row); owner != nil || err != nil {
		return owner, err
	}
	o.relock.Lock()
	defer o.relock.Unlock()
	if owner, err := o.find(row); owner != nil || err != nil { // another goroutine was faster
		return owner, err
	}
	s, ok, err := row.read()
	if err != nil {
		return nil, err
	}
	if !ok || !s.ownedBy(c) {
		return nil, lostFile(c)
	}
	lock, err := row.lock()
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, fmt.Errorf("lease: worker %d in namespace %q is held by another process or Store", c.Worker, c.Namespace)
	}
	owner := &fileOwner{row: row, claim: s.claim(), lock: lock, idle: true}
	if err := o.add(owner); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return owner, nil
}

// find returns the row's owner, nil if there is none.
func (o *fileOwners) find(row fileRow) (*fileOwner, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errClosed(row)
	}
	return o.rows[row.path], nil
}

func (o *fileOwners) add(owner *fileOwner) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errClosed(owner.row)
	}
	if o.rows == nil {
		o.rows = map[string]*fileOwner{}
	}
	o.rows[owner.row.path] = owner
	return nil
}

// drop ends the lock. The owner's mutex is held.
func (o *fileOwners) drop(owner *fileOwner) error {
	o.mu.Lock()
	if o.rows[owner.row.path] == owner {
		delete(o.rows, owner.row.path)
	}
	o.mu.Unlock()
	err := errors.Join(unlockFile(owner.lock), owner.lock.Close())
	owner.lock = nil
	return err
}

// byToken returns the row that is owned with the token, and the claim.
func (o *fileOwners) byToken(namespace, token string) (row fileRow, c lease.Claim, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, owner := range o.rows {
		if c = owner.claim; c.Namespace == namespace && c.Token == token {
			c.Next = ""
			return owner.row, c, true
		}
	}
	return row, lease.Claim{}, false
}

// setTokens sets the tokens that the state may have. The owner's mutex is held.
func (o *fileOwners) setTokens(owner *fileOwner, token, next string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	owner.claim.Token, owner.claim.Next = token, next
}

// owns reports whether the row has an owner.
func (o *fileOwners) owns(row fileRow) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows[row.path] != nil
}

// close ends all locks, for good.
func (o *fileOwners) close() error {
	o.mu.Lock()
	o.closed = true
	owners := o.rows
	o.rows = nil
	o.mu.Unlock()
	var errs []error
	for _, owner := range owners {
		owner.mu.Lock()
		if owner.lock != nil {
			errs = append(errs, o.drop(owner))
		}
		owner.mu.Unlock()
	}
	return errors.Join(errs...)
}

func lostFile(c lease.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}

func errClosed(row fileRow) error { return fmt.Errorf("lease: %s: %w", row.path, os.ErrClosed) }
