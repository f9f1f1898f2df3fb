package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

func TestKeepLeavesTables(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		// A comment of the table on MariaDB, which its partitions have, and one of the partition on PostgreSQL.
		e.exec(e.either("COMMENT ON TABLE "+dayName(-10)+` IS E'of "users" \\ ''all'''`, `ALTER TABLE events COMMENT 'of "users" \\ ''all'''`))
		s := e.set(partition.WithRetain(8), partition.WithKeep())
		e.does(s, "keep "+dayName(-10), "keep "+dayName(-9))
		e.want(-8, 3)
		e.same(e.loose(), dayName(-10), dayName(-9))
		e.same([]string{e.comment(dayName(-10))}, `of "users" \ 'all'`)
		e.rows(dayName(-10), 4)
		if e.mysql { // on PostgreSQL partitions are tables already
			e.exec("CREATE TABLE " + dayName(-8) + " (n int)")
			e.same(e.fails(e.set(partition.WithRetain(7), partition.WithKeep()), partition.ErrTable, "there is another table"))
			e.want(-8, 3)
		}
	})
}

func TestArchiveDropsOnlyWhatIsArchived(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		failure := errors.New("no space")
		archived := make(map[string]int)
		fail := true
		s := e.set(partition.WithRetain(8), partition.WithArchive(func(ctx context.Context, table string) error {
			if fail && table == e.quoted(dayName(-9)) {
				return failure
			}
			archived[table] = e.count("SELECT COUNT(*) FROM " + table)
			return nil
		}))

		loose := e.schema() + "." + dayName(-9)
		e.fails(s, failure, "archive "+loose)
		e.want(-8, 3)
		e.same(e.loose(), dayName(-9))
		e.rows(dayName(-9), 4)
		// A table that was written to since then has rows that are not in the archive.
		for _, id := range []int64{int64(idAt(day(-9))) - 1, int64(idAt(day(-8)))} {
			if e.mysql { // which does not know the lower bound if the partition was the first
				id = int64(idAt(day(-8)))
			}
			e.exec(fmt.Sprintf("INSERT INTO %s (id) VALUES (%d)", dayName(-9), id))
			e.blocked(s, "has rows outside of its bounds")
			e.exec(fmt.Sprintf("DELETE FROM %s WHERE id = %d", dayName(-9), id))
		}

		// With a longer retention the table is none to drop.
		e.blocked(e.set(partition.WithRetain(100)), "not beyond the retention any more")
		fail = false
		e.does(s, "archive "+loose, "drop "+loose)
		if len(archived) != 2 || archived[e.quoted(dayName(-10))] != 4 || archived[e.quoted(dayName(-9))] != 4 {
			t.Errorf("archived are %v", archived)
		}

		e.same(e.loose())
	})
}

// In a rolling deploy a Set without Archive works beside the one with it, whose callback runs.
func TestSetWithoutArchiveDropsNothingThatIsToBeArchived(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		// A process has ended after it had marked the partition, or made the table for its rows.
		if e.mysql {
			e.stopBefore(e.set(partition.WithRetain(9), archiveNothing), "LOCK TABLES")
		} else {
			e.exec("COMMENT ON TABLE " + dayName(-10) + " IS '" + e.mark(-10, ", to be archived") + "'")
		}

		e.blocked(e.set(partition.WithRetain(3)), "another Set is to archive it")
		archived, calls := 0, 0
		s := e.set(partition.WithRetain(3), partition.WithArchive(func(_ context.Context, table string) error {
			if calls++; calls < 3 { // in between, and at the end, it may drop what is archived
				e.blocked(e.set(partition.WithRetain(3)), "another Set is to archive it")
			} else if calls == 3 {
				return errors.New("no space")
			}
			archived += e.count("SELECT count(*) FROM " + table)
			return nil
		}))

		e.fails(s, nil, "no space")
		e.blocked(e.set(partition.WithRetain(3), partition.WithKeep()), "another Set is to archive it")
		e.maintain(s)
		if archived != 7*4 || calls != 7+1 {
			e.Errorf("%d rows are archived, in %d calls", archived, calls)
		}
	})
}

// While one process archives, which may take hours, the others maintain the rest and return.
func TestPostgresOneProcessArchivesAtATime(t *testing.T) {
	e := filledPostgres(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	calls := 0
	done := e.maintaining(e.set(partition.WithRetain(3), partition.WithArchive(func(ctx context.Context, _ string) error {
		if calls++; calls == 1 {
			close(begun)
			<-finish
		}
		return ctx.Err()
	})))

	<-begun
	other := func(_ context.Context, table string) error { return fmt.Errorf("called for %s as well", table) }
	steps := e.maintain(e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithArchive(other)))
	if want := "create " + dayName(5); !slices.Contains(steps, want) {
		t.Errorf("the steps are %q, without %s", steps, want)
	}

	close(finish)
	e.ok(<-done)
	e.want(-3, 5)
	e.same(e.loose())
}

// While the callback of Archive runs, a person may remove the mark, rename the table, or attach it again.
func TestPostgresArchiveMarksNothingThatChangedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		kept   bool // a table with the name loose
		calls  int
	}{
		"the mark":    {"COMMENT ON TABLE %[1]s IS 'keep it'", true, 1},
		"the name":    {"ALTER TABLE %[1]s RENAME TO other; CREATE TABLE \"the loose\" (id bigint)", true, 1},
		"attached":    {"ALTER TABLE events ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]d') TO ('%[3]d')", false, 2},
		"the comment": {"COMMENT ON TABLE %[1]s IS '%[4]s\nseen'", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := filledPostgres(t)
			e.exec("ALTER TABLE " + dayName(-10) + ` RENAME TO "the loose"`)
			calls := 0
			e.maintain(e.set(partition.WithRetain(9), partition.WithArchive(func(ctx context.Context, table string) error {
				if calls++; calls == 1 {
					e.exec(fmt.Sprintf(c.change, table, idAt(day(-10)), idAt(day(-9)), e.mark(-10, "")))
				}
				return nil
			})))

			if calls != c.calls {
				t.Errorf("the callback was called %d times, want %d", calls, c.calls)
			}

			e.same(e.loose(), map[bool][]string{true: {"the loose"}}[c.kept]...)
		})
	}
}

// The lock of Archive ends with the call, whatever name the table has then.
func TestPostgresLockOfArchiveEndsAfterARename(t *testing.T) {
	e := filledPostgres(t)
	e.SetMaxOpenConns(2)
	failure := errors.New("no space")
	e.fails(e.set(partition.WithRetain(9), partition.WithArchive(func(context.Context, string) error {
		e.exec("ALTER TABLE events RENAME TO renamed")
		return failure
	})), failure)
	e.counts(0, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
AND ((classid::int8 << 32) | objid::int8) = hashtextextended('sqlflake/partition archive ' || current_schema() || '.events', 0)`)
}

// The callback of WithArchive may take longer than the server's limit for idle sessions. A pool between that gives the
// session to others is an error.
func TestPostgresSessionOfArchive(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, eventsTable)
	e.SetMaxOpenConns(1)
	e.exec("SET idle_session_timeout = '1h'")
	err := e.set().Session(e.limit(), e.DB, func(conn *sql.Conn) error {
		var limit string
		if err := conn.QueryRowContext(e.limit(), "SHOW idle_session_timeout").Scan(&limit); err != nil || limit != "0" {
			t.Errorf("the limit is %s, %v, want none", limit, err)
		}
		_, err := conn.ExecContext(e.limit(), "SELECT pg_advisory_unlock_all()")
		return err
	})

	e.is(err, nil, "advisory lock")
}

// Between the plan and the lock another process may have archived the table.
func TestPostgresTableIsArchivedOnce(t *testing.T) {
	e := filledPostgres(t)
	failure := errors.New("no space")
	failing := e.set(partition.WithRetain(9), partition.WithArchive(func(context.Context, string) error { return failure }))
	e.fails(failing, failure)
	e.ok(failing.ArchiveAfter(e.limit(), e.DB, func() {
		e.exec("COMMENT ON TABLE " + dayName(-10) + " IS '" + e.mark(-10, ", archived") + "'")
	}))
}

// The comment of a table of another role does not make the role that maintains read it, which would execute its code.
func TestPostgresMarkedTableOfAnotherRoleIsIgnored(t *testing.T) {
	e := filledPostgres(t)
	e.exec(fmt.Sprintf(`CREATE TYPE kind AS ENUM ('a');
CREATE FUNCTION code(kind) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the code runs as %%', current_user; END $$;
CREATE CAST (kind AS bigint) WITH FUNCTION code(kind) AS IMPLICIT;
CREATE TABLE loose (id kind);
INSERT INTO loose VALUES ('a');
CREATE TABLE other (id bigint);
COMMENT ON TABLE loose IS '%[2]s';
COMMENT ON TABLE other IS '%[2]s';
ALTER TYPE kind OWNER TO %[1]s; ALTER TABLE loose OWNER TO %[1]s; ALTER TABLE other OWNER TO %[1]s`, e.role(), e.mark(-20, "")))

	e.maintain(e.set(partition.WithRetain(3)))
	e.same(e.loose(), "loose", "other")
	// A table of the owner is one of events.
	e.exec("ALTER TABLE other OWNER TO current_user")
	e.maintain(e.set(partition.WithRetain(3)))
	e.same(e.loose(), "loose")
}

// Default privileges would let a role read a partition past the policies of the table.
func TestPostgresPartitionHasNoPrivilegesOfItsOwn(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, eventsTable)
	role := e.role()
	e.exec(`ALTER DEFAULT PRIVILEGES IN SCHEMA ` + e.schema() + ` GRANT ALL ON TABLES TO PUBLIC, ` + role)
	e.exec("ALTER TABLE events REPLICA IDENTITY FULL")
	e.maintain(e.set())
	e.exec("ALTER TABLE events OWNER TO " + role)
	e.maintain(e.set(partition.WithAhead(4)))
	e.same(e.texts(`SELECT c.relname || ' ' || g::text FROM pg_class c, aclexplode(c.relacl) g
WHERE c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass) AND g.grantee <> c.relowner`))
	e.counts(5, `SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND relreplident = 'f'
AND relnamespace = current_schema()::regnamespace`)
}
