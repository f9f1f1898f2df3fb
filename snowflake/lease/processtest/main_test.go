// Package processtest_test tests leases with real processes, which are killed,
// stopped and cut off from their database. The issuers are this test binary,
// started again: see issuer_test.go.
package processtest_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

var long = flag.Bool("long", os.Getenv("SNOWFLAKE_TEST_LONG") != "", "kill 200 processes, cut many connections, and measure the cost")

// patience is how long a test waits for what has to come. It is no promise: the
// machine may be busy, the race detector may be on.
const patience = time.Minute

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(orderVariable); ok {
		os.Exit(issue(text))
	}
	os.Exit(testdb.Main(m))
}

// scale returns how often something is done.
func scale(usually, atLength int) int {
	if *long {
		return atLength
	}
	return usually
}

// eventually waits until the condition holds, and shows the processes if it never does.
func eventually(tb testing.TB, what string, condition func() bool, processes ...*process) {
	tb.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			tb.Fatalf("%s: not after %v; %v", what, patience, processes)
		}
	}
}
