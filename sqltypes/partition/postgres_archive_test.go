package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// While the callback of Archive runs, a person may remove the mark, rename the table, or attach it again.
func TestPostgresArchiveMarksNothingThatChangedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		kept   bool // a table with the name loose
		calls  int
	}{
		"the mark":    {"COMMENT ON TABLE %[1]s IS 'keep it'", true, 1},
		"the name":    {"ALTER TABLE %[1]s RENAME TO other; CREATE TABLE loose (id bigint)", true, 1},
		"attached":    {"ALTER TABLE events ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]d') TO ('%[3]d')", false, 2},
		"the comment": {"COMMENT ON TABLE %[1]s IS 'sqlflake: detached from \"%[4]s.events\", keys %[2]d to %[3]d\nseen'", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, eventsTable)
			e.fill()
			e.exec("ALTER TABLE " + e.partition(-10) + " RENAME TO loose")
			calls := 0
			archive := func(ctx context.Context, table string) error {
				if calls++; calls > 1 {
					return nil
				}
				_, err := e.ExecContext(ctx, fmt.Sprintf(c.change, table, idAt(e.day(-10)), idAt(e.day(-9)), e.schema()))
				return err
			}
			if _, err := e.set(partition.WithRetain(9), partition.WithArchive(archive)).Maintain(e.limit(), e.DB); err != nil {
				t.Error(err)
			}
			if got := slices.Contains(e.tables(), "loose"); got != c.kept {
				t.Errorf("the tables are %q", e.tables())
			}
			if calls != c.calls {
				t.Errorf("the callback was called %d times, want %d", calls, c.calls)
			}
			e.hasTable("other", false)
		})
	}
}

// In a rolling deploy a Set without Archive works beside the one with it, whose callback runs.
func TestPostgresSetWithoutArchiveDropsNothingThatIsToBeArchived(t *testing.T) {
	e := filledEvents(t)
	// A process has ended after it had marked the partition, before it was detached.
	e.exec(fmt.Sprintf(`COMMENT ON TABLE %s IS 'sqlflake: detached from "%s.events", keys %d to %d, to be archived'`,
		e.partition(-10), e.schema(), idAt(e.day(-10)), idAt(e.day(-9))))
	e.blocked(e.set(partition.WithRetain(3)), "another Set is to archive it")
	e.archiveBeside(e.set)
}

func (e *events) archiveBeside(set func(...partition.Option) *partition.Set) {
	e.Helper()
	expired := e.count(fmt.Sprintf("SELECT count(*) FROM events WHERE id < %d", idAt(e.day(-3))))
	archived, calls := 0, 0
	archive := func(_ context.Context, table string) error {
		if calls++; calls < 3 { // in between, and at the end, it may drop what is archived
			e.blocked(set(partition.WithRetain(3)), "another Set is to archive it")
		} else if calls == 3 {
			return errors.New("no space")
		}
		archived += e.count("SELECT count(*) FROM " + table)
		return nil
	}
	s := set(partition.WithRetain(3), partition.WithArchive(archive))
	if _, err := s.Maintain(e.limit(), e.DB); err == nil || !strings.Contains(err.Error(), "no space") {
		e.Errorf("the error is %v", err)
	}
	e.blocked(set(partition.WithRetain(3), partition.WithKeep(strings.ToUpper)), "another Set is to archive it")
	e.maintain(s)
	if archived != expired || calls != 7+1 && calls != 8+1 { // on MySQL there is an empty first one
		e.Errorf("%d of %d rows are archived, in %d calls", archived, expired, calls)
	}
}

// The lock of Archive ends with the call, whatever name the table has then.
func TestPostgresLockOfArchiveEndsAfterARename(t *testing.T) {
	e := filledEvents(t)
	e.SetMaxOpenConns(2)
	failure := errors.New("no space")
	archive := func(ctx context.Context, _ string) error {
		_, err := e.ExecContext(ctx, "ALTER TABLE events RENAME TO renamed")
		return errors.Join(err, failure)
	}
	e.fails(e.set(partition.WithRetain(9), partition.WithArchive(archive)), failure)
	const locks = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
AND ((classid::int8 << 32) | objid::int8) = hashtextextended('sqlflake/partition archive ' || current_schema() || '.events', 0)`
	e.counts(0, locks)
}

// The callback of WithArchive may take longer than the server's limit for idle sessions. A pool between that gives the
// session to others is an error, and the connection is not used again.
func TestPostgresSessionOfArchive(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.SetMaxOpenConns(1)
	e.exec("SET idle_session_timeout = '1h'")
	before := e.count("SELECT pg_backend_pid()")
	e.must(e.set().Session(e.limit(), e.DB, func(conn *sql.Conn) error {
		var limit string
		if err := conn.QueryRowContext(e.limit(), "SHOW idle_session_timeout").Scan(&limit); err != nil || limit != "0" {
			t.Errorf("the limit is %s, %v, want none", limit, err)
		}
		return nil
	}))
	if got := e.texts("SHOW idle_session_timeout"); got[0] != "1h" || e.count("SELECT pg_backend_pid()") != before {
		t.Errorf("the limit is %s after it, want 1h on the same connection", got[0])
	}
	err := e.set().Session(e.limit(), e.DB, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(e.limit(), "SELECT pg_advisory_unlock_all()")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "advisory lock") || e.count("SELECT pg_backend_pid()") == before {
		t.Errorf("the error is %v, want one, and another connection", err)
	}
}

// Between the plan and the lock another process may have archived the table.
func TestPostgresTableIsArchivedOnce(t *testing.T) {
	e := filledEvents(t)
	failure := errors.New("no space")
	failing := e.set(partition.WithRetain(9), partition.WithArchive(func(context.Context, string) error { return failure }))
	e.fails(failing, failure)
	err := failing.FinishAfter(e.limit(), e.DB, func() {
		e.exec(fmt.Sprintf(`COMMENT ON TABLE %s IS 'sqlflake: detached from "%s.events", keys %d to %d, archived'`,
			e.partition(-10), e.schema(), idAt(e.day(-10)), idAt(e.day(-9))))
	})
	if err != nil {
		t.Errorf("the callback is called again: %v", err)
	}
}
