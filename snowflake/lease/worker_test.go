package lease_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestAConfiguredWorkerIsACanonicalNumber(t *testing.T) {
	const name = "SQLFLAKE_TEST_WORKER"
	fromEnv := func(value string) (int64, error) {
		t.Setenv(name, value)
		return lease.WorkerFromEnv(name)
	}
	type worker struct {
		text string
		want int64 // -1: an error
	}
	check := func(read func(string) (int64, error), names string, workers ...worker) {
		t.Helper()
		for _, w := range workers {
			got, err := read(w.text)
			named := names
			if named == "" {
				named = w.text[:min(len(w.text), 20)]
			}
			if w.want >= 0 && (err != nil || got != w.want) ||
				w.want < 0 && (got != 0 || !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), named)) {
				t.Errorf("%q: got %d, %v, want %d, or an error that names %q", w.text, got, err, w.want, named)
			}
		}
	}
	check(fromEnv, name, []worker{
		{"0", 0},
		{"12", 12},
		{"9223372036854775807", 9223372036854775807},
		{"", -1},
		{"-1", -1},
		{"-0", -1},
		{"+5", -1},
		{"007", -1},
		{"7\n", -1},
		{"1_000", -1},
		{"٣", -1},
	}...)
	check(fromEnv, "9223372036854775807", worker{"9223372036854775808", -1}) // the limit
	check(lease.WorkerFromOrdinal, "", []worker{
		{"web-0", 0},
		{"web-12", 12},
		{"web-2-12", 12},
		{"w-1023", 1023},
		{"web-12.web.default.svc.cluster.local", 12},
		{strings.Repeat("w", 60) + "-1", 1},
		{strings.Repeat("w", 61) + "-1", -1}, // 63 bytes: the name may have been cut there
		{"web-7d4b9c6f5-x2z9k", -1},          // of a Deployment
		{"", -1},
		{"web", -1},
		{"web-", -1},
		{"-12", -1},
		{"12", -1},
		{"web-012", -1},
		{"web-+12", -1},
		{"web-12 ", -1},
		{"Web-12", -1},
		{"web.svc-12", -1},
		{"localhost", -1},
		{"web-99999999999999999999", -1},
	}...)
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
	if _, err := lease.WorkerFromEnv(name); !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), name+`" is not set`) {
		t.Errorf("without the variable: %v", err)
	}
}
