// Package leasetest tests whether a lease.Store keeps what that interface promises:
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, func(t *testing.T) lease.Store { return mystore.New(newDatabase(t)) }, leasetest.Settings{})
//	}
//
// [lease.NewMemory] is a store that passes it.
package leasetest
