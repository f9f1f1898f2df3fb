package main

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var quiet = lease.WithLogger(slog.New(slog.DiscardHandler))

func TestWorkersAreListed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.do(t, "workers").fails(t, exitFailed, "Is this the database with the leases?")
		s.migrate(t)
		if r := s.do(t, "workers --json"); r.out != "[]\n" {
			t.Errorf("%+v", r)
		}

		open(t, s, lease.WithNamespace("orders"), lease.WithVersion("v1.2.3"))
		must(t, open(t, s, lease.WithNamespace("orders")).Close(t.Context()))
		open(t, s, lease.WithNamespace("users"), lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("wide"))))
		r := s.do(t, "workers")
		if !strings.HasPrefix(r.out, "NAMESPACE  WORKER  STATE") ||
			!strings.HasSuffix(r.out, "\norders: 1 held, 1 free, 1022 never taken\nusers: 1 held, 0 free, 255 never taken\n") {
			t.Errorf("%+v", r)
		}

		var all []holding
		r = s.do(t, "workers --json --namespace orders")
		if err := json.Unmarshal([]byte(r.out), &all); err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}

		first := all[0]
		if !first.Held || all[1].Held || first.Version != "v1.2.3" || first.Epoch != 1 || first.Horizon == nil || first.PID == 0 ||
			strings.Contains(strings.ToLower(r.out), "token") {
			t.Errorf("%s", r.out)
		}
	})
}

// TestOnlyForceReleasesAHeldWorker leaves to sqllease that no ID comes twice.
func TestOnlyForceReleasesAHeldWorker(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.migrate(t)
		s.do(t, "workers release 0").fails(t, exitFailed, "was never taken")
		open(t, s, lease.WithWorkers(0, 0), lease.WithStopOnLoss())
		s.do(t, "workers release 0").fails(t, exitFailed, "Make sure that the holder is dead, or wait. Then --force takes the worker away.")
		s.exec(t, "UPDATE snowflake_leases SET host = 'web-1\n\x1b[2J' WHERE worker = 0")
		s.do(t, "workers release 0").fails(t, exitFailed, `is held by "web-1\n\x1b[2J", pid `)
		if entry, err := s.entry(t.Context(), lease.DefaultNamespace, 0); err != nil || entry.Epoch != 1 {
			t.Fatalf("changed without --force: %+v, %v", entry, err)
		}

		s.do(t, "workers release 0 --force").says(t, exitOK, `worker 0 of namespace "default" is released.`)
		s.do(t, "workers release 0 --force").says(t, exitOK, `worker 0 of namespace "default" is free since `)
		if entry, err := s.entry(t.Context(), lease.DefaultNamespace, 0); err != nil || entry.Epoch != 2 || entry.Held {
			t.Errorf("%+v, %v, want a free worker of epoch 2", entry, err)
		}
	})
}

func TestAReservationIsShownAndNeverReleased(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.migrate(t)
		must(t, open(t, s).Reserve(t.Context(), 1023, "orders"))
		r := s.do(t, "workers")
		if strings.Count(r.out, " reserved ") != 2 || !strings.HasSuffix(r.out, "\ndefault: 2 held, 0 free, 1022 never taken\n") {
			t.Errorf("%+v", r)
		}

		if r := s.do(t, "workers --json"); strings.Count(r.out, `"reserved": true`) != 1 || strings.Count(r.out, `"held": true`) != 2 {
			t.Errorf("%+v", r)
		}

		s.do(t, "workers release --force 1023").fails(t, exitFailed, `worker 1023 of namespace "default" is reserved for orders: its IDs would repeat`)
		if e, err := s.entry(t.Context(), lease.DefaultNamespace, 1023); err != nil || !e.Reserved() || e.Epoch != 1 {
			t.Errorf("%+v, %v, want a reservation of epoch 1", e, err)
		}
	})
}

func TestTheTableOfWorkersIsForPeople(t *testing.T) {
	const layout = "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"
	entries := []leasestore.Entry{
		{
			Claim: leasestore.Claim{Namespace: "default", Worker: 0, Epoch: 12}, Layout: layout, Horizon: 86_400_123, Held: true,
			Expires: time.Date(2025, 1, 2, 0, 0, 10, 0, time.UTC), Holder: leasestore.Holder{Host: "web-1", PID: 4711, Version: "v1.4.0"},
		},
		{Claim: leasestore.Claim{Namespace: "default", Worker: 1, Epoch: 1}, Layout: "something else", Horizon: 5},
		{Claim: leasestore.Claim{Namespace: "moved", Worker: 3}, Layout: "epoch=2025-01-01T00:00:00Z tick=1ms time:43 worker:8 sequence:12", Held: true, Expires: time.Date(2025, 1, 2, 0, 0, 10, 0, time.UTC)},
		{Claim: leasestore.Claim{Namespace: "moved", Worker: 7}, Layout: layout, Expires: time.Unix(-1, 0)}, // before the move
		{
			Claim: leasestore.Claim{Namespace: "odd", Worker: 0}, Layout: "something else",
			Holder: leasestore.Holder{Host: "\x1b]0;mine\a\x1b[2Jweb-1\ndefault 4 held", Version: "\x9b2J\u202e"},
		},
		{Claim: leasestore.Claim{Namespace: "tabs\t4\theld"}, Layout: "something else"},
	}
	entries[1].Holder = leasestore.Holder{Host: "shop-orders-7d9f8b6c5d-x2x4z", PID: 4711} // 80 columns have room for most pods
	var out strings.Builder
	writeWorkers(&out, entries)
	want := `NAMESPACE        WORKER  STATE  EXPIRES               HOST                      PID
default          0       held   2025-01-02T00:00:10Z  web-1                     4711
default          1       free   -                     shop-orders…8b6c5d-x2x4z  4711
moved            3       held   2025-01-02T00:00:10Z  -                         0
moved            7       free   1969-12-31T23:59:59Z  -                         0
odd              0       free   -                     "\x1b]0;min…ault 4 held"  0
"tabs\t4\theld"  0       free   -                     -                         0

default: 1 held, 1 free, 1022 never taken
moved: 1 held, 1 free, 254 never taken
odd: 0 held, 1 free
"tabs\t4\theld": 0 held, 1 free
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func TestANamespaceMovesWhenNoWorkerIsHeld(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		s.migrate(t)
		s.do(t, "workers move").fails(t, exitUsage, "to")
		s.do(t, "workers move --to nothing").fails(t, exitUsage, "nothing")
		s.do(t, "workers move --to wide").fails(t, exitFailed, "nobody has used")
		l := open(t, s)
		s.do(t, "workers move --to wide").fails(t, exitFailed, "workers release --force 0")
		must(t, l.Close(t.Context()))
		s.do(t, "workers move --to javascriptsafe").fails(t, exitFailed, "can't move")
		var first string
		for range 2 { // the second one changes nothing
			r := s.do(t, "workers move --to wide")
			if r.code != exitOK || !strings.Contains(r.out, "Its IDs begin at 2") || first != "" && r.out != first {
				t.Errorf("%+v, before %q", r, first)
			}
			first = r.out
		}

		id, err := snowflake.Parse(strings.TrimSpace(s.do(t, "new").out))
		if err != nil || snowflake.MustPreset("wide").Validate(id) != nil {
			t.Errorf("an ID after the move: %d, %v", id, err)
		}
	})
}

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
		must(t, err)
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
		must(t, err)
		r.exec(t, "CREATE SUBSCRIPTION orders CONNECTION 'user=postgres dbname=postgres host="+other.Query().Get("host")+
			"' PUBLICATION orders WITH (copy_data = false, origin = none)")
	}

	return regions
}

func (r *region) exec(t *testing.T, statement string) {
	t.Helper()
	execSQL(t, r.db, statement)
}

// rows returns a hash of the rows.
func (r *region) rows(t *testing.T) (hash string) {
	t.Helper()
	err := r.db.QueryRowContext(t.Context(), "SELECT md5(coalesce(string_agg(id || region, ',' ORDER BY id), '')) FROM orders").Scan(&hash)
	must(t, err)
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
	compareRegions(t, regions, since).says(t, exitOK, "no worker is used by both")
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
	return doAt(t.Context(), time.Now, nil, "audit", "--dsn", regions[0].dsn, "--with", regions[1].dsn, "--table", "orders",
		"--since", since, "--layout", "default")
}

func hashes(t *testing.T, regions [2]*region) (a, b string) {
	t.Helper()
	return regions[0].rows(t), regions[1].rows(t)
}
