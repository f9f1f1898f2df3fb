package main

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
)

// region is a PostgreSQL whose table orders is replicated to another one, and from there. Its lease table is not.
type region struct {
	name, dsn string
	db        *sql.DB
}

// twoRegions starts the servers of SNOWFLAKE_TEST_POSTGRES18: a subscription that leaves out what the other side has got by
// replication needs 16 or newer.
func twoRegions(t *testing.T) (regions [2]*region) {
	t.Helper()
	programs, ok := strings.CutPrefix(os.Getenv("SNOWFLAKE_TEST_POSTGRES18"), "throwaway:")
	if !ok {
		t.Skip("only with SNOWFLAKE_TEST_POSTGRES18=throwaway:PROGRAMS")
	}
	var group sync.WaitGroup
	var servers [2]*dbserver.Server
	var faults [2]error
	for i := range servers {
		group.Go(func() {
			servers[i], faults[i] = dbserver.Start(t.Context(), dbserver.Config{
				Name: "postgres", Folder: programs, NoSync: true,
				Args: []string{"-c", "wal_level=logical", "-c", "wal_retrieve_retry_interval=100ms"},
			})
		})
	}
	group.Wait()
	for i, s := range servers {
		if faults[i] != nil {
			t.Error(faults[i])
			continue
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		db, err := sql.Open("pgx", s.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		regions[i] = &region{[]string{"east", "west"}[i], s.DSN, db}
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, r := range regions {
		r.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, region text NOT NULL)")
		r.exec(t, "CREATE PUBLICATION orders FOR TABLE orders")
	}
	for i, r := range regions {
		other, err := url.Parse(regions[1-i].dsn)
		if err != nil {
			t.Fatal(err)
		}
		r.exec(t, "CREATE SUBSCRIPTION orders CONNECTION 'user=postgres dbname=postgres host="+other.Query().Get("host")+
			"' PUBLICATION orders WITH (copy_data = false, origin = none)")
	}
	return regions
}

func (r *region) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := r.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %s: %v", r.name, statement, err)
	}
}

// rows returns a hash of the rows.
func (r *region) rows(t *testing.T) (hash string) {
	t.Helper()
	err := r.db.QueryRowContext(t.Context(), "SELECT md5(coalesce(string_agg(id || region, ',' ORDER BY id), '')) FROM orders").Scan(&hash)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// conflicts returns how many rows of the other side were refused.
func (r *region) conflicts(t *testing.T) (n int) {
	t.Helper()
	if err := r.db.QueryRowContext(t.Context(), `SELECT apply_error_count + sync_error_count + confl_insert_exists
		+ confl_multiple_unique_conflicts FROM pg_stat_subscription_stats`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// link lets the rows pass, or cuts the regions off from each other, and returns the time from which on that is so.
func link(t *testing.T, regions [2]*region, enable bool) (since string) {
	t.Helper()
	for _, r := range regions {
		if enable {
			r.exec(t, "ALTER SUBSCRIPTION orders ENABLE")
			continue
		}
		r.exec(t, "ALTER SUBSCRIPTION orders DISABLE")
		eventually(t, "the link ends", func() (ended bool) {
			err := r.db.QueryRowContext(t.Context(), "SELECT bool_and(pid IS NULL) FROM pg_stat_subscription").Scan(&ended)
			return err == nil && ended
		})
	}
	return time.Now().Add(20 * time.Millisecond).UTC().Format(time.RFC3339Nano) // IDs lead by 10 ms
}

// Two databases take writes, are cut off from each other, and are joined. The first time each has its own share of the
// workers. The second time both have the same one, and the audit says so before they are joined.
func TestRegionsWithTheirOwnSharesMergeWithoutAConflict(t *testing.T) {
	regions := twoRegions(t)
	begin := func(namespace string, shares [2][2]int64) (writers [2]*running) {
		for i, r := range regions {
			writers[i] = writer{DSN: r.dsn, Region: r.name, Namespace: namespace, First: shares[i][0], Last: shares[i][1]}.start(t)
		}
		for _, w := range writers {
			w.inserts(t, 20)
		}
		return writers
	}
	writers := begin("shop", [2][2]int64{{0, 511}, {512, 1023}})
	for _, untold := range []bool{false, true} {
		swapped := writer{DSN: regions[0].dsn, Region: "west", Namespace: "shop", First: 512, Last: 1023, Untold: untold}.start(t)
		eventually(t, "a refusal", func() bool { return swapped.fault.Load() != nil || swapped.count.Load() > 0 })
		if fault := swapped.fault.Load(); fault == nil || !strings.Contains(*fault, "the share 0 to 511") {
			t.Errorf("a process of the west in the east, %v: %v", untold, fault)
		}
	}
	since := link(t, regions, false)
	for range 4 {
		for i, w := range writers {
			w.inserts(t, 40)
			w.kill(t)
			writers[i] = w.start(t)
		}
	}
	for _, w := range writers {
		w.inserts(t, 40).finish(t)
	}
	if a, b := hashes(t, regions); a == b {
		t.Fatal("the regions were not cut off from each other")
	}
	if r := compareRegions(t, regions, since); r.code != exitOK || !strings.Contains(r.out, "no worker is used by both") {
		t.Errorf("each has its own share: %+v", r)
	}
	link(t, regions, true)
	eventually(t, "both regions have the same rows", func() bool { a, b := hashes(t, regions); return a == b })
	for _, r := range regions {
		if n := r.conflicts(t); n > 0 {
			t.Errorf("%s: %d conflicts", r.name, n)
		}
	}

	since = link(t, regions, false)
	writers = begin("wrong", [2][2]int64{{0, 0}, {0, 0}})
	eventually(t, "an ID in both regions", func() bool {
		for _, w := range writers {
			w.inserts(t, 100)
		}
		r := compareRegions(t, regions, since)
		if r.code != exitFindings || !strings.Contains(r.out, "\nshared_worker: 1,") {
			t.Fatalf("both have the same share: %+v", r)
		}
		return strings.Contains(r.out, "\nin_both: ")
	})
	for _, w := range writers {
		w.finish(t)
	}
	link(t, regions, true)
	for _, r := range regions {
		eventually(t, "the conflict of "+r.name, func() bool { return r.conflicts(t) > 0 })
	}
}

// compareRegions asks the command whether the regions can be merged.
func compareRegions(t *testing.T, regions [2]*region, since string) result {
	t.Helper()
	var out, errs bytes.Buffer
	root := rootCommand(time.Now)
	root.SetOut(&out)
	root.SetErr(&errs)
	code := run(t.Context(), root, []string{"audit", "--dsn", regions[0].dsn, "--with", regions[1].dsn, "--table", "orders", "--since", since, "--layout", "default"})
	return result{out.String(), errs.String(), code}
}

func hashes(t *testing.T, regions [2]*region) (a, b string) {
	t.Helper()
	return regions[0].rows(t), regions[1].rows(t)
}
