package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// open returns a pool of one connection. change changes how it connects.
func (e mysqlEvents) open(change func(*mysql.Config)) *sql.DB {
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

// openStopping returns a pool on which the process says "holds" before it sends a statement with the text j.Stop, and waits.
func (j job) openStopping() (*sql.DB, error) {
	config, err := mysql.ParseDSN(j.Target.DSN)
	if err != nil {
		return nil, err
	}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, addr)
		return stoppingConn{conn, j}, err
	}
	connector, err := mysql.NewConnector(config)
	return sql.OpenDB(connector), err
}

type stoppingConn struct {
	net.Conn
	job
}

func (c stoppingConn) Write(packet []byte) (int, error) {
	if strings.Contains(string(packet), c.Stop) {
		c.wait("holds")
	}
	return c.Conn.Write(packet)
}

func TestMySQLSettingsOfTheSessionAreKept(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{"autocommit": "0", "sql_mode": "'ANSI_QUOTES'", "innodb_lock_wait_timeout": "7", "wait_timeout": "77"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			e := newMySQL(t, mysqlTable)
			e.fill()
			db := e.open(func(config *mysql.Config) { config.Params[setting] = value })
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			steps, err := e.set(partition.WithRetain(8), partition.WithAhead(4), partition.WithKeep(keepAsOld)).Maintain(ctx, db)
			if err != nil || len(steps) != 4 {
				t.Errorf("%v, %v", kinds(steps), err)
			}
			var got string
			if err := db.QueryRowContext(t.Context(), "SELECT @@SESSION."+setting).Scan(&got); err != nil || got != strings.Trim(value, "'") {
				t.Errorf("%s is %s, %v, want %s", setting, got, err, value)
			}
		})
	}
}

// The callback may take longer than a server keeps a connection that is not used.
func TestMySQLArchiveOutlastsWaitTimeout(t *testing.T) {
	e := filledMySQL(t)
	calls := 0
	archive := func(context.Context, string) error {
		if calls++; calls == 1 {
			time.Sleep(1500 * time.Millisecond)
		}
		return nil
	}
	db := e.open(func(config *mysql.Config) { config.Params["wait_timeout"] = "1" })
	if _, err := e.set(partition.WithRetain(9), partition.WithArchive(archive)).Maintain(e.limit(), db); err != nil {
		t.Error(err)
	}
	e.want(-9, 3)
}

// TestMySQLTriggerStopsNoWriters is about MariaDB, which can't exchange a partition of a locked table with such a trigger:
// the statement waits for a lock of its own transaction.
func TestMySQLTriggerStopsNoWriters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trigger       string
		blocked, late bool // on MariaDB: before anything is made, or by the lock timeout
	}{
		{trigger: "CREATE TRIGGER audit BEFORE INSERT ON events FOR EACH ROW SET NEW.body = 'inserted'"},
		{trigger: "CREATE TRIGGER audit AFTER DELETE ON events FOR EACH ROW INSERT INTO log VALUES (OLD.id)", blocked: true},
		{trigger: "CREATE TRIGGER audit BEFORE UPDATE ON events FOR EACH ROW SET NEW.body = (SELECT MAX(n) FROM log)", blocked: true},
		{trigger: "CREATE TRIGGER audit BEFORE INSERT ON events FOR EACH ROW SET NEW.body = logged()", late: true},
	} {
		e := newMySQL(t, mysqlTable)
		e.fill()
		e.exec("CREATE TABLE log (n bigint)")
		if c.late {
			e.exec("CREATE FUNCTION logged() RETURNS bigint READS SQL DATA RETURN (SELECT MAX(n) FROM log)")
		}
		e.exec(c.trigger)
		before := e.tables()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		steps, err := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld), partition.WithPatience(0)).Maintain(ctx, e.DB)
		cancel()
		switch {
		case e.target.IsMySQL(), !c.blocked && !c.late:
			if err != nil || len(steps) != 2 {
				t.Errorf("%s: %v, %v", c.trigger, kinds(steps), err)
			}
			continue
		case c.blocked && (!errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "the trigger audit")):
			t.Errorf("%s: %v, want %v", c.trigger, err, partition.ErrBlocked)
		case c.late && !errors.Is(err, partition.ErrLocked):
			t.Errorf("%s: %v, want %v", c.trigger, err, partition.ErrLocked)
		}
		if got := e.tables(); len(steps) > 0 || c.blocked && !slices.Equal(got, before) {
			t.Errorf("%s: %v, and the tables are %q, want %q", c.trigger, kinds(steps), got, before)
		}
		e.counts(44, rowsOf("events"))
		e.maintain(e.set(partition.WithRetain(9))) // drops
		e.want(-9, 3)
	}
}

// mysqlRights are those of the package's documentation.
var mysqlRights = []string{"ALTER", "CREATE", "DROP", "INSERT", "SELECT", "LOCK TABLES"}

// TestMySQLRightsOfTheDocumentationDo takes away one right after the other first: a call that fails loses no rows, and the
// next one continues.
func TestMySQLRightsOfTheDocumentationDo(t *testing.T) {
	e := filledMySQL(t)
	database := e.texts("SELECT DATABASE()")[0]
	user := database[:len("sqlflake_test_")+10] // the longest name of a user has 32 characters
	e.exec("CREATE USER " + user + " IDENTIFIED BY 'few rights'")
	t.Cleanup(func() {
		if _, err := e.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user); err != nil {
			t.Error(err)
		}
	})
	maintain := func(rights []string, options ...partition.Option) ([]partition.Step, error) {
		t.Helper()
		e.exec(fmt.Sprintf("GRANT %s ON %s.* TO %s", strings.Join(rights, ", "), database, user))
		defer e.exec(fmt.Sprintf("REVOKE %s ON %s.* FROM %s", strings.Join(rights, ", "), database, user))
		db := e.open(func(config *mysql.Config) { config.User, config.Passwd = user, "few rights" })
		return e.set(append(options, partition.WithDefault())...).Maintain(e.limit(), db)
	}
	for i, right := range mysqlRights {
		rights := slices.Delete(slices.Clone(mysqlRights), i, i+1)
		steps, err := maintain(rights, partition.WithRetain(9), partition.WithKeep(keepAsOld))
		if err == nil || errors.Is(err, partition.ErrLocked) {
			t.Errorf("without %s: %v, %v, want that something fails", right, kinds(steps), err)
		}
		e.counts(44, rowsOf("events"))
	}
	archive := partition.WithArchive(func(context.Context, string) error { return nil })
	for i, option := range []partition.Option{partition.WithKeep(keepAsOld), archive, partition.WithAhead(4)} {
		if steps, err := maintain(mysqlRights, partition.WithRetain(9-i), option); err != nil {
			t.Errorf("%d: %v, %v", i, kinds(steps), err)
		}
	}
	e.want(-7, 4, "events_default MAXVALUE")
	e.counts(4, rowsOf("old_"+e.partition(-10)))
}
