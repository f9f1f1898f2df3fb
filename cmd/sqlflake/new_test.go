package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestIDsOfAFolderDoNotRepeat(t *testing.T) {
	state := t.TempDir()
	var all []snowflake.ID
	for _, args := range []string{"-n 3", "-n 5000", "-n 3 --as base32", "-n 3 --as base62"} {
		r := do(t, "", append([]string{"new", "--worker", "1023", "--state", state}, strings.Fields(args)...)...)
		if r.code != exitOK || r.err != "" {
			t.Fatalf("%s: %+v", args, r)
		}

		form := "decimal"
		if _, after, ok := strings.Cut(args, "--as "); ok {
			form = after
		}

		for line := range strings.Lines(r.out) {
			id, err := parseID(strings.TrimSuffix(line, "\n"), form)
			if err != nil || snowflake.Default().Decompose(id).Worker != 1023 {
				t.Fatalf("%s: %q, %v", args, line, err)
			}
			all = append(all, id)
		}
	}

	if len(all) != 5009 || !slices.IsSorted(all) || len(slices.Compact(all)) != 5009 {
		t.Errorf("%d IDs; sorted: %t, different: %d", len(all), slices.IsSorted(all), len(slices.Compact(all)))
	}

	args := []string{"new", "--state", state, "--worker"}
	do(t, "", append(args, "1023", "--layout", "manyworkers")...).fails(t, exitFailed, "another layout")
	do(t, "", append(args, "1024", "--layout", "default")...).fails(t, exitFailed, "workers 1024 to 1024")
}

func TestEachFieldOfALayoutNeedsAValue(t *testing.T) {
	args := []string{"new", "--layout", "twitter", "--worker", "3", "--state", t.TempDir()}
	do(t, "", args...).fails(t, exitUsage, "give --field FIELD=N for each field")
	r := do(t, "", append(args, "--field", "datacenter=5")...)
	if id, err := snowflake.Parse(strings.TrimSpace(r.out)); err != nil || id>>17&31 != 5 || id>>12&31 != 3 {
		t.Errorf("%+v: %d, %v", r, id, err)
	}
	do(t, "", append(args, "--field", "datacentre=5")...).fails(t, exitFailed, "no such field")
	do(t, "", append(args, "--field", "datacenter")...).fails(t, exitUsage, "want a name, = and a number")
}

func TestAWorkerOfAFolderServesOneProcessAtATime(t *testing.T) {
	state := t.TempDir()
	store, err := filelease.New(state)
	must(t, err)
	defer func() { _ = store.Close() }()
	l, err := lease.Open(t.Context(), store, lease.WithWorkers(7, 7), quiet)
	must(t, err)
	args := []string{"new", "--worker", "7", "--state", state, "--wait", "50ms"}
	do(t, "", args...).fails(t, exitFailed, "no worker within 50ms")
	must(t, l.Close(t.Context()))
	args[len(args)-1] = "5m"
	do(t, "", args...).says(t, exitOK)
}

func TestIDsOfALeasedWorker(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.do(t, "new").fails(t, exitFailed, "snowflake_leases")
		s.migrate(t)
		s.do(t, "new").fails(t, exitFailed, "no application has leased a worker here")
		l := open(t, s, lease.WithNamespace("orders"), lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("wide"))))
		s.do(t, "new").fails(t, exitFailed, `no worker of the namespace "default" was ever leased here; there are ["orders"]`)
		s.do(t, "new --namespace orders --layout default").fails(t, exitFailed, "another layout")
		last := l.Generator().MustNext()
		r := s.do(t, "new --namespace orders -n 3")
		if r.code != exitOK || strings.Count(r.out, "\n") != 3 {
			t.Fatalf("%+v", r)
		}

		for line := range strings.Lines(r.out) {
			id, err := snowflake.Parse(strings.TrimSuffix(line, "\n"))
			if err != nil || id == last || snowflake.MustPreset("wide").Decompose(id).Worker == l.Generator().Worker() {
				t.Errorf("%d, %v has the worker of the application", id, err)
			}
		}

		entries, err := s.List(t.Context(), "orders")
		if err != nil || len(entries) < 2 {
			t.Fatalf("%+v, %v", entries, err)
		}

		for _, e := range entries[1:] {
			if e.Held || e.Holder.Version != "sqlflake new" {
				t.Errorf("the worker was not given back: %+v", e)
			}
		}
	})
}

// The layout is that of the namespace, whose rows may be missing.
func TestIDsHaveTheLayoutOfTheNamespace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.migrate(t)
		wide := snowflake.MustPreset("wide")
		must(t, s.SetShare(t.Context(), "share", wide, 4, 5))
		r := s.do(t, "new --namespace share")
		id, err := snowflake.Parse(strings.TrimSpace(r.out))
		if at := wide.Decompose(id); err != nil || at.Worker < 4 || at.Worker > 5 || time.Since(at.Time).Abs() > time.Hour {
			t.Errorf("%+v, %v", r, at)
		}
	})
}

// site is an empty database for the commands of a test, in SQLFLAKE_DSN.
type site struct {
	testdb.Target // but for the driver and the DSN of SQLite
	*database
}

// eachDatabase runs a test on each database. The SQLite is that of the command, which needs no C compiler.
func eachDatabase(t *testing.T, f func(t *testing.T, s site)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "sqlite" {
			target = newSQLite(t, filepath.Join(t.TempDir(), "a b?.db")).Target
		}
		t.Setenv("SQLFLAKE_DSN", target.DSN)
		f(t, openSite(t, target))
	})
}

// newSQLite makes an empty database.
func newSQLite(t *testing.T, path string) site {
	t.Helper()
	must(t, os.WriteFile(path, nil, 0o600)) // an empty file is a database
	return openSite(t, testdb.Target{Name: "sqlite", DSN: "sqlite:" + path})
}

func openSite(t *testing.T, target testdb.Target) site {
	t.Helper()
	d, err := openDatabase(t.Context(), target.DSN, "snowflake_")
	must(t, err)
	t.Cleanup(d.close)
	return site{target, d}
}

// TestTheSuiteOfStoresOnSQLite is for the driver. Package sqllease has the other databases.
func TestTheSuiteOfStoresOnSQLite(t *testing.T) {
	d := newSQLite(t, filepath.Join(t.TempDir(), "leases.db"))
	d.migrate(t)
	leasetest.Run(t, func(*testing.T) leasestore.Store { return d }, leasetest.Settings{
		Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
			tb.Helper()
			_, err := d.pool.ExecContext(tb.Context(), "UPDATE snowflake_namespaces SET protocol = 3 WHERE namespace = ?", namespace)
			must(tb, err)
		},
	})
}

func (s site) migrate(t *testing.T) {
	t.Helper()
	must(t, s.Migrate(t.Context()))
}

// do runs the command on the database.
func (s site) do(t *testing.T, command string) result {
	t.Helper()
	return do(t, "", strings.Fields(command)...)
}

// open leases a worker until the test ends.
func open(t *testing.T, store leasestore.Store, opts ...lease.Option) *lease.Lease {
	t.Helper()
	// With this window no lease expires in a test, however slow it is. None waits for it, since Close gives the worker back.
	l, err := lease.Open(t.Context(), store, append([]lease.Option{quiet, lease.WithWindow(lease.MaxWindow)}, opts...)...)
	must(t, err)
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	return l
}
