package filelease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// owner is a row that a Store owns, with its open lock.
type owner struct {
	row   fileRow
	lock  *os.File
	claim leasestore.Claim // with a Next if a write that may have replaced the token has failed
	idle  bool             // nothing was written since the lock was taken
}

// take makes the caller of Acquire the owner of a row whose lock it holds and whose state is s. If that fails it closes
// the lock.
func (f *Store) take(row fileRow, lock *os.File, s fileState, r leasestore.Request) (leasestore.Grant, error) {
	s.Epoch++
	s.Token, s.Host, s.PID, s.Version = r.Token, r.Holder.Host, r.Holder.PID, r.Holder.Version
	s.Reserved = reserves(r)
	err := row.write(s)
	if err == nil {
		_, err = lock.WriteAt([]byte("The state is in "+filepath.Base(row.path)+".\n"), 0) // for read
	}
	if err != nil {
		return leasestore.Grant{}, errors.Join(fmt.Errorf("lease: taking worker %d: %w", s.Worker, err), unlock(lock))
	}
	f.owned[row.path] = &owner{row: row, lock: lock, claim: s.claim()}
	return leasestore.Grant{Claim: s.claim(), Horizon: s.Horizon}, nil
}

// reserves reports whether the request is for a worker that stays held, whatever becomes of the process.
func reserves(r leasestore.Request) bool { return r.TTL >= 100*365*24*time.Hour }

// regrant repeats the grant of an earlier Acquire with the token, as the state has it.
func (f *Store) regrant(r leasestore.Request, used []fileRow) (grant leasestore.Grant, ok bool, err error) {
	if reserves(r) {
		for _, row := range used {
			s, _, err := row.read(nil)
			isOwn := s.Reserved && s.Token == r.Token
			if err != nil || isOwn {
				return leasestore.Grant{Claim: s.claim(), Horizon: s.Horizon}, err == nil, err
			}
		}
		return leasestore.Grant{}, false, nil
	}

	for _, o := range f.owned {
		if o.claim.Namespace != r.Namespace || o.claim.Token != r.Token {
			continue
		}
		c := o.claim
		c.Next = ""
		err = f.use(c, func(_ *owner, s fileState) error {
			grant = leasestore.Grant{Claim: s.claim(), Horizon: s.Horizon}
			return nil
		})
		if errors.Is(err, lease.ErrLost) {
			err = nil
		}
		break
	}

	return grant, grant.Epoch > 0, err
}

// use calls change with the owner of the claim's row and its state, or returns ErrLost. If the state has the claim but
// the store does not own the row, the worker was released, or its process has ended, and no takeover has come since.
// The claim is still valid then, and use takes the lock again.
func (f *Store) use(c leasestore.Claim, change func(*owner, fileState) error) error {
	lost := fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
	row := f.dir.row(c.Namespace, c.Worker)
	o := f.owned[row.path]
	if o != nil && !row.locks(o.lock) { // the lock file was removed, and another process may hold a new one
		if err := f.drop(o); err != nil {
			return err
		}
		o = nil
	}
	if o == nil {
		s, ok, err := row.read(nil)
		if err != nil {
			return err
		}
		if !ok || !s.ownedBy(c) {
			return lost
		}
		lock, err := row.lock()
		if err != nil {
			return err
		}
		if lock == nil {
			return fmt.Errorf("lease: worker %d in namespace %q is held by another process or Store",
				c.Worker, c.Namespace)
		}
		o = &owner{row: row, lock: lock, claim: s.claim(), idle: true}
		f.owned[row.path] = o
	}

	s, ok, err := row.read(o.lock)
	switch {
	case err != nil:
		return err
	case !ok || !s.ownedBy(o.claim): // the state was replaced from outside, or by a copy of this process
		return errors.Join(lost, f.drop(o))
	case !s.ownedBy(c):
		return lost
	}

	return change(o, s)
}

// drop ends the lock.
func (f *Store) drop(o *owner) error {
	delete(f.owned, o.row.path)
	return unlock(o.lock)
}

// held reports whether the row's lock is held, by trying to take it.
func (f *Store) held(row fileRow) (bool, error) {
	if f.owned[row.path] != nil {
		return true, nil
	}
	lock, err := row.lock()
	if err != nil || lock == nil {
		return err == nil, err
	}
	return false, unlock(lock)
}
