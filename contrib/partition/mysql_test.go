package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

// The step to a table of WithKeep goes on after a process that ended after any of its statements.
func TestMySQLDetachGoesOnAfterEachOfItsStatements(t *testing.T) {
	t.Parallel()
	var statements []string
	for n := 1; n == 1 || n <= len(statements); n++ {
		e := filledMariaDB(t)
		s := e.set(partition.WithRetain(9), partition.WithKeep())
		plan, err := s.Plan(t.Context(), e.DB)
		if err != nil || len(plan.Steps) != 1 {
			t.Fatalf("%v, %v", plan, err)
		}

		statements = plan.Steps[0].SQL
		e.stopAfter(statements[:n])
		steps := e.maintain(s)
		e.want(-9, 3)
		if len(steps) != min(1, len(statements)-n) {
			t.Errorf("after %q: %v", statements[n-1], steps)
		}

		e.kept()
	}
}

// kept checks that the oldest day has become a table of WithKeep, without a mark.
func (e *events) kept() {
	e.Helper()
	e.same(e.loose(), dayName(-10))
	e.rows(dayName(-10), 4)
	if comment := e.comment(dayName(-10)); comment != "" {
		e.Errorf("the comment is %q", comment)
	}
}

// stopAfter executes statements on a connection that then ends.
func (e *events) stopAfter(statements []string) {
	e.Helper()
	process := *e
	process.DB = e.target.Open(e.T)
	process.SetMaxOpenConns(1)
	process.exec(strings.Join(statements, ";\n"))
	e.must(process.Close())
}

// stopBefore ends a process that detaches the oldest partition before the statement with the word.
func (e *events) stopBefore(s *partition.Set, word string) {
	e.Helper()
	plan, err := s.Plan(e.Context(), e.DB)
	e.must(err)
	at := slices.IndexFunc(plan.Steps[0].SQL, func(statement string) bool { return strings.Contains(statement, word) })
	e.stopAfter(plan.Steps[0].SQL[:at])
}

const afterExchange = " DROP PARTITION "

func TestMySQLRowsThatComeBetweenAreNotLost(t *testing.T) {
	for _, option := range []partition.Option{partition.WithKeep(), partition.WithAhead(3)} {
		e := filledMariaDB(t)
		keep := e.set(partition.WithRetain(9), partition.WithKeep())
		e.stopBefore(keep, afterExchange)
		e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, 'late')", idAt(day(-10))+1))
		e.blocked(e.set(partition.WithRetain(9), option), dayName(-10))
		e.rows("events", 10*4+1)
		e.rows(dayName(-10), 4)
		e.exec("INSERT INTO " + dayName(-10) + " SELECT * FROM events PARTITION (" + dayName(-10) + ")")
		e.exec("ALTER TABLE events TRUNCATE PARTITION " + dayName(-10))
		e.maintain(keep)
		e.want(-9, 3)
		e.rows(dayName(-10), 5)
	}
}

// A plan does not see the rows of a transaction that is committed while the step waits for the table.
func TestRowsThatComeAfterThePlanAreNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		day        int
		option     partition.Option
		stopBefore string
	}{
		"postgres":           {-13, partition.WithAhead(3), ""},
		"foreign row":        {-13, partition.WithAhead(3), ""},
		"foreign row, kept":  {-13, partition.WithKeep(), ""},
		"row of a partition": {-10, partition.WithKeep(), afterExchange},
		"row of its twin":    {-10, partition.WithKeep(), " EXCHANGE "},
	} {
		t.Run(name, func(t *testing.T) {
			var e *events
			table := "events"
			if name == "postgres" {
				e = filledPostgres(t)
				e.oldest()
			} else {
				e = filledMariaDB(t)
			}

			s := e.set(partition.WithRetain(9), c.option, partition.WithLockTimeout(time.Minute))
			if c.stopBefore != "" {
				e.stopBefore(s, c.stopBefore)
			}

			if name == "row of its twin" {
				table = dayName(-10)
			}

			end := e.hold(fmt.Sprintf("INSERT INTO %s VALUES (%d, 'late')", table, idAt(day(c.day))+1))
			done := e.maintaining(s)
			e.waitForALock()
			end()
			e.is(<-done, partition.ErrBlocked)
			e.rows(table+" WHERE body = 'late'", 1)
		})
	}
}

func TestMySQLOptionsThatChangeBetweenTheStatements(t *testing.T) {
	e := filledMariaDB(t)
	e.stopBefore(e.set(partition.WithRetain(9), partition.WithKeep()), afterExchange)
	// The rows are retained again, so somebody has to put them back.
	e.blocked(e.set(partition.WithRetain(10)), "the table "+dayName(-10))
	// Now they are to be dropped.
	e.maintain(e.set(partition.WithRetain(9)))
	e.want(-9, 3)
	e.same(e.loose())
}

func TestMySQLOnlyMarkedTablesAreDropped(t *testing.T) {
	e := filledMariaDB(t)
	marks := []string{
		"", "sqlflake: detached from", `sqlflake: detached from "other.events", keys 0 to 5`,
		`sqlflake: detached from "events", keys 0 to 5`, `see sqlflake: detached from "x", keys 0 to 5`,
	}
	for i, mark := range marks {
		e.exec(fmt.Sprintf("CREATE TABLE events_%d (id bigint PRIMARY KEY) COMMENT '%s'", i, mark))
	}
	e.maintain(e.set(partition.WithRetain(9)))
	e.same(e.loose(), "events_0", "events_1", "events_2", "events_3", "events_4")
}

// A call ended before the exchange, and a column was added since.
func TestMySQLAlteredTableNeedsNewTables(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"COMMENT = ", " EXCHANGE "} {
		e := filledMariaDB(t)
		s := e.set(partition.WithRetain(9), partition.WithKeep())
		e.stopBefore(s, before)
		e.exec("ALTER TABLE events ADD COLUMN size int, FORCE")
		e.does(s, "keep "+dayName(-10))
		e.want(-9, 3)
		e.kept()
	}
}

// open returns a pool of one connection. change changes how it connects.
func (e *events) open(change func(*mysql.Config)) *sql.DB {
	e.Helper()
	config, err := mysql.ParseDSN(e.target.DSN)
	e.must(err)
	if config.Params == nil {
		config.Params = make(map[string]string)
	}

	change(config)
	db, err := sql.Open("mysql", config.FormatDSN())
	e.must(err)
	db.SetMaxOpenConns(1)
	e.Cleanup(func() {
		e.ok(db.Close())
	})

	return db
}

func TestMySQLSettingsOfTheSessionAreKept(t *testing.T) {
	for setting, value := range map[string]string{
		"autocommit": "0", "sql_mode": "'ANSI_QUOTES'", "lock_wait_timeout": "8", "innodb_lock_wait_timeout": "7", "wait_timeout": "77",
	} {
		t.Run(setting, func(t *testing.T) {
			e := filledMariaDB(t)
			e.DB = e.open(func(config *mysql.Config) { config.Params[setting] = value })
			e.maintain(e.set(partition.WithRetain(8), partition.WithAhead(4), partition.WithKeep()))
			e.want(-8, 4)
			e.same(e.texts("SELECT @@SESSION."+setting), strings.Trim(value, "'"))
		})
	}
}

// The callback may take longer than a server keeps a connection that is not used.
func TestMySQLArchiveOutlastsWaitTimeout(t *testing.T) {
	e := filledMariaDB(t)
	e.DB = e.open(func(config *mysql.Config) { config.Params["wait_timeout"] = "1" })
	e.does(e.set(partition.WithRetain(9), partition.WithArchive(func(context.Context, string) error {
		time.Sleep(1500 * time.Millisecond)
		return nil
	})), "detach "+dayName(-10), "archive "+e.schema()+"."+dayName(-10), "drop "+e.schema()+"."+dayName(-10))
}

// MariaDB can't exchange a partition of a locked table with such a trigger: the statement waits for a lock of its own
// transaction.
func TestMySQLTriggerStopsNoWriters(t *testing.T) {
	for trigger, want := range map[string]error{ // on MariaDB: before anything is made, or by the lock timeout
		"BEFORE INSERT ON events FOR EACH ROW SET NEW.body = 'inserted'":               nil,
		"AFTER DELETE ON events FOR EACH ROW INSERT INTO log VALUES (OLD.id)":          partition.ErrBlocked,
		"BEFORE UPDATE ON events FOR EACH ROW SET NEW.body = (SELECT MAX(n) FROM log)": partition.ErrBlocked,
		"BEFORE INSERT ON events FOR EACH ROW SET NEW.body = logged()":                 partition.ErrLocked,
	} {
		t.Run(trigger, func(t *testing.T) {
			e := filledMariaDB(t)
			e.exec("CREATE TABLE log (n bigint)")
			e.exec("CREATE FUNCTION logged() RETURNS bigint READS SQL DATA RETURN (SELECT MAX(n) FROM log)")
			e.exec("CREATE TRIGGER audit " + trigger)
			keep := e.set(partition.WithRetain(9), partition.WithKeep(), partition.WithPatience(0))
			if want == nil || e.target.IsMySQL() {
				e.does(keep, "keep "+dayName(-10))
				return
			}

			if e.same(e.fails(keep, want)); errors.Is(want, partition.ErrBlocked) {
				e.blocked(keep, "the trigger audit")
				e.same(e.loose(), "log")
			}

			e.rows("events", 11*4)
			e.maintain(e.set(partition.WithRetain(9))) // drops
			e.want(-9, 3)
		})
	}
}

// The rights of the documentation do. Without one of them a call fails, loses no rows, and the next one continues.
func TestMySQLRightsOfTheDocumentationDo(t *testing.T) {
	e := filledMariaDB(t)
	all := []string{"ALTER", "CREATE", "DROP", "INSERT", "SELECT", "LOCK TABLES"}
	database := e.schema()
	user := database[:len("sqlflake_test_")+10] // the longest name of a user has 32 characters
	e.exec("CREATE USER " + user + " IDENTIFIED BY 'few rights'")
	t.Cleanup(func() {
		_, err := e.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user)
		e.ok(err)
	})

	maintain := func(rights []string, options ...partition.Option) error {
		t.Helper()
		e.exec(fmt.Sprintf("GRANT %s ON %s.* TO %s", strings.Join(rights, ", "), database, user))
		defer e.exec(fmt.Sprintf("REVOKE %s ON %s.* FROM %s", strings.Join(rights, ", "), database, user))
		db := e.open(func(config *mysql.Config) { config.User, config.Passwd = user, "few rights" })
		_, err := e.set(options...).Maintain(e.limit(), db)
		return err
	}

	for i, right := range all {
		err := maintain(slices.Delete(slices.Clone(all), i, i+1), partition.WithRetain(9), partition.WithKeep())
		if err == nil || errors.Is(err, partition.ErrLocked) {
			t.Errorf("without %s: %v, want that something fails", right, err)
		}
		e.rows("events", 11*4)
	}

	for i, option := range []partition.Option{partition.WithKeep(), archiveNothing, partition.WithAhead(4)} {
		e.ok(maintain(all, partition.WithRetain(9-i), option))
	}

	e.want(-7, 4)
	e.kept()
}
