package processtest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const cutWindow = 300 * time.Millisecond

// sessions ends the sessions of the test and no others: all are in a schema or a database with a random name.
type sessions struct {
	kind string
	db   *sql.DB
	name string
}

func openSessions(t *testing.T, p place) *sessions {
	t.Helper()
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	s := &sessions{kind: p.Kind, db: db}
	if p.Kind == "mariadb" {
		config, err := mysql.ParseDSN(p.DSN)
		if err != nil {
			t.Fatal(err)
		}
		s.name = config.DBName
	}
	return s
}

// end ends all sessions but its own and returns how many.
func (s *sessions) end(ctx context.Context) (n int, err error) {
	if s.kind == "postgres" {
		err := s.db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`).Scan(&n)
		return n, err
	}
	ids, err := testdb.MariaDBConnections(ctx, s.db, s.name)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := s.db.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id)); err == nil { // else it has ended by itself
			n++
		}
	}
	return n, nil
}

// busy starts two issuers and waits until both issue.
func busy(t *testing.T, p place) []*Process {
	t.Helper()
	o := Order{Place: p.String(), First: 0, Last: 3, Window: cutWindow}
	processes := []*Process{MustStart(t, o), MustStart(t, o)}
	for _, q := range processes {
		Eventually(t, "the first ID", func() bool { return q.Count() > 0 || q.HasEnded() }, q)
	}
	return processes
}

// unharmed requires that the issuers continue and end without an error: no call has failed.
func unharmed(t *testing.T, processes []*Process, p place) {
	t.Helper()
	for _, q := range processes {
		count, extended := q.Count(), len(q.Noted(lease.Extended))
		Eventually(t, "more IDs and extensions", func() bool {
			return q.HasEnded() || q.Count() > count+100 && len(q.Noted(lease.Extended)) > extended+1
		}, q)
		if err := q.Finish(); err != nil {
			t.Error(err)
		}
	}
	TakeCensus(processes).Check(t, p.store(t))
}

func TestEndedSessionsCostNoError(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		s := openSessions(t, p)
		processes := busy(t, p)
		ended := 0
		for target := Scale(40, 400); ended < target && !processes[0].HasEnded() && !processes[1].HasEnded(); time.Sleep(10 * time.Millisecond) {
			n, err := s.end(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ended += n
		}
		unharmed(t, processes, p)
		t.Logf("%d sessions ended", ended)
	})
}

func TestHarmedConnectionsCostNoError(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		x, far := through(t, p)
		x.harm.Store(true) // also while they start: they may have to take a worker twice
		processes := busy(t, far)
		f := &x.faults
		enough := int64(Scale(1, 8))
		Eventually(t, "all kinds of harm", func() bool {
			return f.cut.Load() >= enough && f.unheard.Load() >= 2*enough && f.half.Load() >= enough &&
				f.swallowed.Load() >= enough && f.delayed.Load() >= enough
		}, processes...)
		x.gone.Store(true)
		links := x.closeAll()
		Eventually(t, "attempts while the database is gone", func() bool { return f.refused.Load() > 1 }, processes...)
		time.Sleep(2 * cutWindow) // beyond the horizon, and the expiry
		x.gone.Store(false)
		x.harm.Store(false)
		unharmed(t, processes, p)
		t.Logf("cut %d, cut before the reply about a change %d, half closed %d, swallowed %d, delayed %d, closed %d and refused %d while gone",
			f.cut.Load(), f.unheard.Load(), f.half.Load(), f.swallowed.Load(), f.delayed.Load(), links, f.refused.Load())
	})
}
