package leasetest

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Settings says what a store can't do. The zero value is right for a store on a server.
type Settings struct {
	// NoExpiry is for stores whose workers become free with the end of their process and not at a time. The tests of an
	// expiry are left out, and other tests that need a free worker release one.
	NoExpiry bool

	// Require marks a namespace that is in use, as a version of the module would do that knows version 2 of the
	// protocol, or 3 if the store knows 2, and needs to keep out the versions that do not. Calls then return a
	// *lease.VersionError. Without it that promise is not tested.
	Require func(tb testing.TB, store leasestore.Store, namespace string)
}

// Run runs the suite, a subtest for each promise of [leasestore.Store]. It calls open for each subtest. open may return
// the same store or different ones, on the same data or on new data, since each subtest uses its own namespaces, with
// random names that begin with "leasetest-". Use t.Cleanup to close or remove what open creates. Subtests do not run in
// parallel; one of them uses 40 goroutines.
func Run(t *testing.T, open func(t *testing.T) leasestore.Store, settings Settings) {
	t.Helper()
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				if test.expiry && settings.NoExpiry {
					continue
				}

				t.Run(test.promise, func(t *testing.T) {
					test.run(&fixture{
						TB: t, store: open(t), namespace: "leasetest-" + NewToken(), settings: settings,
						patience: 2 * time.Minute,
					})
				})
			}
		})
	}
}

var groups = []struct {
	name  string
	tests []test
}{
	{"Acquire", acquireTests},
	{"Order", orderTests},
	{"Extend", extendTests},
	{"Release", releaseTests},
	{"List", listTests},
	{"Concurrency", concurrencyTests},
	{"Input", inputTests},
	{"Later", laterTests},
}

type test struct {
	promise string
	expiry  bool // needs a store with an expiry
	run     func(f *fixture)
}
