package lease_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestWorkerFromEnvTakesCanonicalNumbersOnly(t *testing.T) {
	const name = "SQLFLAKE_TEST_WORKER"
	for _, tc := range []struct {
		value string
		want  int64 // -1: an error
	}{
		{"0", 0},
		{"12", 12},
		{"9223372036854775807", 9223372036854775807},
		{"9223372036854775808", -1},
		{"", -1},
		{"-1", -1},
		{"-0", -1},
		{"+5", -1},
		{"007", -1},
		{" 7", -1},
		{"7\n", -1},
		{"0x7", -1},
		{"1_000", -1},
		{"1e3", -1},
		{"٣", -1},
	} {
		t.Setenv(name, tc.value)
		got, err := lease.WorkerFromEnv(name)
		checkWorker(t, tc.value, got, err, tc.want, name)
		if tc.want < 0 && !strings.Contains(err.Error(), "9223372036854775807") {
			t.Errorf("%q: the error does not name the limit: %v", tc.value, err)
		}
	}
}

func TestWorkerFromEnvNamesTheVariableThatIsNotSet(t *testing.T) {
	const name = "SQLFLAKE_TEST_UNSET"
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
	_, err := lease.WorkerFromEnv(name)
	if !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "not set") {
		t.Errorf("got %v", err)
	}
}

func TestWorkerFromOrdinalTakesPodNamesOnly(t *testing.T) {
	for _, tc := range []struct {
		pod  string
		want int64
	}{
		{"web-0", 0},
		{"web-12", 12},
		{"web-2-12", 12},
		{"w-1023", 1023},
		{strings.Repeat("w", 60) + "-1", 1},
		{strings.Repeat("w", 61) + "-1", -1}, // 63 bytes: the name may have been cut there
		{"web", -1},
		{"web-", -1},
		{"-12", -1},
		{"12", -1},
		{"web-012", -1},
		{"web-+12", -1},
		{"web-12 ", -1},
		{"web-7d4b9c6f5-x2z9k", -1}, // of a Deployment
		{"Web-12", -1},
		{"web.svc-12", -1},
		{"web-12.web.default.svc.cluster.local", 12},
		{"localhost", -1},
		{"web-99999999999999999999", -1},
		{"", -1},
	} {
		got, err := lease.WorkerFromOrdinal(tc.pod)
		name := tc.pod
		if len(name) > 20 {
			name = name[:20]
		}
		checkWorker(t, tc.pod, got, err, tc.want, name)
	}
}

// checkWorker compares a worker, or for -1 the error, which must name what is wrong.
func checkWorker(t *testing.T, input string, got int64, err error, want int64, names string) {
	t.Helper()
	switch {
	case want >= 0 && (err != nil || got != want):
		t.Errorf("%q: got %d, %v, want %d", input, got, err, want)
	case want < 0 && (got != 0 || !errors.Is(err, lease.ErrOption)):
		t.Errorf("%q: got %d, %v, want 0, ErrOption", input, got, err)
	case want < 0 && !strings.Contains(err.Error(), names):
		t.Errorf("%q: the error does not name %q: %v", input, names, err)
	}
}
