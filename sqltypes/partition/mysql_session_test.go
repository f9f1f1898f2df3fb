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
	for setting, value := range map[string]string{
		"autocommit": "0", "sql_mode": "'ANSI_QUOTES'", "lock_wait_timeout": "8", "innodb_lock_wait_timeout": "7", "wait_timeout": "77",
	} {
		t.Run(setting, func(t *testing.T) {
			e := filledMariaDB(t)
			e.DB = e.open(func(config *mysql.Config) { config.Params[setting] = value })
			connection := e.count("SELECT CONNECTION_ID()")
			e.maintain(e.set(partition.WithRetain(8), partition.WithAhead(4), partition.WithKeep(keepAsOld)))
			e.want(-8, 4)
			e.same(e.texts("SELECT @@SESSION."+setting), strings.Trim(value, "'"))
			e.counts(connection, "SELECT CONNECTION_ID()")
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
			keep := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld), partition.WithPatience(0))
			if want == nil || e.target.IsMySQL() {
				e.does(keep, "rename "+dayName(-10))
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
		_, err := e.set(append(options, partition.WithDefault())...).Maintain(e.limit(), db)
		return err
	}
	for i, right := range all {
		err := maintain(slices.Delete(slices.Clone(all), i, i+1), partition.WithRetain(9), partition.WithKeep(keepAsOld))
		if err == nil || errors.Is(err, partition.ErrLocked) {
			t.Errorf("without %s: %v, want that something fails", right, err)
		}
		e.rows("events", 11*4)
	}
	archive := partition.WithArchive(func(context.Context, string) error { return nil })
	for i, option := range []partition.Option{partition.WithKeep(keepAsOld), archive, partition.WithAhead(4)} {
		e.ok(maintain(all, partition.WithRetain(9-i), option))
	}
	e.want(-7, 4, "events_default MAXVALUE")
	e.kept()
}
