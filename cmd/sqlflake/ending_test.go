package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestTheLastTwoYearsOfALayoutAreALineOnStderr(t *testing.T) {
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "leases.db")
	if err := os.WriteFile(filepath.Join(dir, "leases.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), dsn, "snowflake_")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	site{database: d}.migrate(t)
	for range 2 { // one line, not one for each worker
		open(t, d)
	}
	open(t, d, lease.WithNamespace("later"), lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("seconds"))))

	const day = 24 * time.Hour
	for _, c := range []struct {
		left time.Duration
		says string
	}{
		{3 * 365 * day, ""},
		{2 * 365 * day, ""},
		{700*day + time.Hour, " ends at 2094-09-07T15:47:35Z, in 700 days\n"},
		{0, " has ended at 2094-09-07T15:47:35Z\n"},
	} {
		for what, command := range map[string]string{
			"the namespace default": "workers --json --dsn " + dsn,
			"the namespace n":       "new --worker 7 --namespace n --state " + filepath.Join(dir, "state.json"),
			"snowflake_next":        "sql functions --dialect postgres --worker 7",
		} {
			var out, errs strings.Builder
			root := rootCommand(func() time.Time { return snowflake.Default().End().Add(-c.left) })
			root.SetOut(&out)
			root.SetErr(&errs)
			want := ""
			if c.says != "" {
				want = "warning: the layout of " + what + c.says
			}
			if code := run(t.Context(), root, strings.Fields(command)); code != exitOK || out.String() == "" || errs.String() != want {
				t.Errorf("%v left, %s: code %d, errors %q, want %q", c.left, command, code, &errs, want)
			}
		}
	}
}

func TestAfterAMoveTheEndOfTheLayoutBeforeIsNoWarning(t *testing.T) {
	next, before := snowflake.MustPreset("seconds"), snowflake.Default()
	now := before.End().Add(-24 * time.Hour)
	var errs strings.Builder
	warnEndings(&errs, []leasestore.Entry{
		{Claim: leasestore.Claim{Namespace: "a"}, Layout: before.String(), Expires: now.Add(time.Second)},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 0}, Layout: before.String(), Expires: now.Add(-time.Hour)},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 1}, Layout: next.String(), Expires: now, Held: true},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 2}, Layout: before.String(), Expires: now.AddDate(250, 0, 0), Held: true, Holder: leasestore.Holder{Host: "reserved for x"}},
	}, now)
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the namespace a ends at") {
		t.Errorf("%q", got)
	}
}
