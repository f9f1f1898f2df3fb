// Package skip is how a test is skipped, and which skips a strict run allows. It imports the standard library only, so
// that the tests of every module can use it.
//
// A run is strict if SNOWFLAKE_TEST_REQUIRE or CI is set. Then [Missing] fails, and "go run ./internal/testall" fails
// after any other skip that [Allowed] does not know.
package skip

import (
	"os"
	"strings"
	"testing"
)

const requireVariable = "SNOWFLAKE_TEST_REQUIRE"

// The beginnings of reasons.
const (
	inapplicable = "does not apply: "
	turnedOff    = "turned off by "
)

// allowed are the reasons that a strict run accepts: a part of the text, and why nothing is lost.
var allowed = []struct {
	part, why string
	local     bool // not in CI
}{
	{part: inapplicable, why: "the test is for another kind of database, where it runs"},
	{part: turnedOff, why: "whoever started the tests asked for it"},
	{part: "only with SNOWFLAKE_TEST_LONG=1", why: "the workflow long runs it every week"},
	{part: "only with SNOWFLAKE_TEST_POSTGRES18", why: ".ci/run postgres18 runs it"},
	{part: "only with SNOWFLAKE_TEST_VITESS", why: ".ci/run vitess runs it, which builds Vitess for minutes"},
	{part: "only on Linux", why: ".ci/run test runs it on Linux"},
	{part: "mounting is not permitted", why: "it takes root, which the workflow has", local: true},
}

// Strict reports whether a missing server or program fails a test instead of skipping it.
func Strict() bool { return os.Getenv(requireVariable) != "" || os.Getenv("CI") != "" }

// Allowed returns why a strict run accepts a skip for this reason, or an empty string if it does not.
func Allowed(reason string) (why string) {
	for _, a := range allowed {
		isAllowedHere := !a.local || os.Getenv("CI") == ""
		if isAllowedHere && strings.Contains(reason, a.part) {
			return a.why
		}
	}
	return ""
}

// Missing ends a test that lacks a server or a program. It skips the test if variable, which is the one of the server
// or empty, is "off". Otherwise the test fails in a strict run, and is skipped in others.
func Missing(tb testing.TB, variable, format string, args ...any) {
	tb.Helper()
	Off(tb, variable)
	if Strict() {
		tb.Fatalf("missing: "+format+" (%s or CI is set)", append(args, requireVariable)...)
	}
	tb.Skipf("missing: "+format, args...)
}

// Off skips a test if the variable of its server is "off".
func Off(tb testing.TB, variable string) {
	tb.Helper()
	if variable != "" && os.Getenv(variable) == "off" {
		tb.Skip(turnedOff + variable + "=off")
	}
}

// Inapplicable skips a test on a kind of database that it is not about. A strict run allows it, so it is not for what
// is merely missing.
func Inapplicable(tb testing.TB, why string) {
	tb.Helper()
	tb.Skip(inapplicable + why)
}
