// Package leasetest tests whether a leasestore.Store keeps what that interface promises:
//
//	func TestStore(t *testing.T) {
//		open := func(t *testing.T) leasestore.Store { return mystore.New(newDatabase(t)) }
//		leasetest.Run(t, open, leasetest.Settings{})
//	}
//
// [lease.NewMemory] is a store that passes it.
package leasetest
