package processtest

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// place is where a store keeps its leases.
type place struct {
	Kind   string // "postgres", "mariadb", "sqlite" or "file"
	Driver string // of database/sql
	DSN    string // or the folder

	NoFloor bool          // the floor of grants is ignored
	Ahead   time.Duration // of the server's clock
}

const fileKind = "file"

// String is for Order.Place, parsePlace reads it.
func (p place) String() string {
	text, _ := json.Marshal(p) // three strings never fail
	return string(text)
}

func parsePlace(text string) (p place) {
	_ = json.Unmarshal([]byte(text), &p) // the zero place can't be opened
	return p
}

func placeOf(target testdb.Target) place {
	return place{Kind: target.Name, Driver: target.Driver, DSN: target.DSN}
}

// eachPlace runs f as a parallel subtest on every store.
func eachPlace(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	eachDatabase(t, f)
	t.Run(fileKind, func(t *testing.T) {
		t.Parallel()
		f(t, place{Kind: fileKind, DSN: t.TempDir()})
	})
}

// eachDatabase leaves the file store out.
func eachDatabase(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		f(t, placeOf(target))
	})
}

// eachServer has only what is reached over a connection that can be cut.
func eachServer(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) testdb.Target{"postgres": testdb.Postgres, "mariadb": testdb.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, placeOf(open(t)))
		})
	}
}

func (p place) dialect() sqldb.Dialect {
	return map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite}[p.Kind]
}

// open returns the store, without its table.
func (p place) open() (store leasestore.Store, closeStore func() error, err error) {
	if p.Kind == fileKind {
		f, err := filelease.New(p.DSN)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	s, err := sqllease.New(db, p.dialect())
	if err != nil {
		return nil, nil, err
	}
	switch {
	case p.NoFloor:
		return noFloor{s}, db.Close, nil
	case p.Ahead > 0:
		return aheadStore{s, lateClock{-p.Ahead}}, db.Close, nil
	}
	return s, db.Close, nil
}

// store opens the store for the test itself.
func (p place) store(tb testing.TB) leasestore.Store {
	tb.Helper()
	s, closeStore, err := p.open()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := closeStore(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	Eventually(tb, "a table", func() bool { err = migrate(tb.Context(), s, Patience); return err == nil })
	return s
}

// noFloor is a store on which owners do not wait after a failover.
type noFloor struct{ *sqllease.Store }

func (s noFloor) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Floor = time.Time{}
	return grant, err
}

// aheadStore is on a server whose clock is ahead. The times in the rows are right: see replicated.fail.
type aheadStore struct {
	*sqllease.Store
	clock lateClock
}

func (s aheadStore) shown(now time.Time) time.Time { return now.Add(time.Until(s.clock.Now())) }

func (s aheadStore) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Now = s.shown(grant.Now)
	return grant, err
}

func (s aheadStore) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	now, err := s.Store.Extend(ctx, c, horizon, ttl)
	return s.shown(now), err
}

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error of issuers is for notes
	Main(func(text string) (leasestore.Store, error) {
		store, _, err := parsePlace(text).open()
		return store, err
	})
	os.Exit(testdb.Main(m))
}

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) { KilledProcesses(t, p.String(), p.store(t), NothingElse) })
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		ProcessesStartedTogether(t, p.String(), func() leasestore.Store { return p.store(t) })
	})
}

// TestABackfillBesideLiveProcessesRepeatsNoID makes IDs for the very times at which four processes, of which each is
// killed and followed by another, issue theirs.
func TestABackfillBesideLiveProcessesRepeatsNoID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		const reserved = 3
		ctx, store := t.Context(), p.store(t)
		l := openPatiently(t, func() (*lease.Lease, error) {
			return lease.Open(ctx, store, lease.WithWorkers(0, 5), lease.WithLogger(slog.New(slog.DiscardHandler)))
		})
		if err := l.Reserve(ctx, reserved, "orders"); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		b, err := snowflake.NewBackfill(reserved, snowflake.WithClock(lateClock{-time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		o := Order{Place: p.String(), First: 0, Last: 5, Window: 200 * time.Millisecond}
		old := &Process{Ended: make(chan struct{})}
		close(old.Ended)
		begin := time.Now()
		fill := func() {
			for range 20_000 {
				id, err := b.Next(time.Now())
				if err != nil {
					t.Fatal(err)
				}
				old.ids.add(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			}
		}
		all := []*Process{old}
		for range 4 {
			all = append(all, MustStart(t, o))
		}
		for i := 1; i <= 4; i++ {
			if err := all[i].AwaitID(); err != nil {
				t.Fatal(err)
			}
			fill()
			if err := all[i].Kill(); err != nil {
				t.Fatal(err)
			}
			all = append(all, MustStart(t, o))
		}
		for _, q := range all[5:] {
			if err := q.AwaitID(); err != nil {
				t.Fatal(err)
			}
		}
		Eventually(t, "an ID of a live process in a millisecond of the backfill", func() bool {
			fill()
			return mixed(all) > 0
		}, all[5:]...)
		for _, q := range all[5:] {
			if err := q.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		live := TakeCensus(all[1:])
		live.Check(t, store)
		for reign := range live.reigns {
			if reign[0] == reserved {
				t.Errorf("a process got the worker %d", reserved)
			}
		}
		// Of the census of all only what it has found counts, as the backfill has no horizon.
		both := TakeCensus(all)
		slices.SortFunc(both.spans, func(a, b span) int { return int(a.first - b.first) })
		for i, s := range both.spans[1:] {
			if before := both.spans[i]; s.first <= before.last {
				t.Fatalf("ID %d came twice: from process %d and process %d", s.first, before.by, s.by)
			}
		}
		if e := Entries(t, store)[reserved]; !e.Reserved() || e.Epoch != 1 || e.Horizon != 0 {
			t.Errorf("the reserved worker is %+v", e)
		}
		t.Logf("%d IDs of rows beside %d, in %d shared milliseconds, %v", old.ids.count, live.IDs, mixed(all), time.Since(begin))
	})
}

// mixed returns how often an ID of the first process is beside one of another process with the same tick.
func mixed(all []*Process) (n int) {
	var spans []span
	for by, p := range all {
		p.mu.Lock()
		for _, s := range p.ids.spans {
			s.by = by
			spans = append(spans, s)
		}
		p.mu.Unlock()
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.first - b.first) })
	for i, s := range spans[1:] {
		if before := spans[i]; (s.by == 0) != (before.by == 0) && tickOf(s.first) == tickOf(before.last) {
			n++
		}
	}
	return n
}
