package settled

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/internal/sqltable"
)

// The time of the query is now(), the start of the transaction that it makes: the session's own xact_start. Even if the
// connection is in a transaction that the driver does not know of, no ID of that transaction is forgotten.
//
// Sessions whose start may be hidden are selected, too: of other roles, for which the server returns NULL in most
// columns but not for the user (background processes have none), and with track_activities = off, whether at the moment
// or when the transaction began. A client that is active without xact_start has just received a statement, or has just
// committed; or it is one of the last, which shows if it stays so.
//
// Autovacuum is left out: it inserts no rows. So are clients that are idle: for a moment they may have a transaction of
// the server's own, to catch up with changes of the catalogue, with the start of their last statement, hours ago.
var postgresSessions = pgsql.Qualified.Replace(`SELECT pid {=} pg_catalog.pg_backend_pid(), pid, coalesce(usename, ''),
	coalesce(application_name, ''), coalesce(state, ''), usesysid IS NOT NULL AND backend_type IS NULL,
	CAST(extract(epoch FROM pg_catalog.now()) {*} 1000000 AS bigint),
	CAST(extract(epoch FROM xact_start) {*} 1000000 AS bigint),
	CASE WHEN state {<>} 'disabled' THEN CAST(extract(epoch FROM query_start) {*} 1000000 AS bigint) END,
	pg_catalog.pg_is_in_recovery(), pg_catalog.version() {~~} '%-YB-%'
FROM pg_catalog.pg_stat_activity
WHERE datname {=} pg_catalog.current_database() AND (pid {=} pg_catalog.pg_backend_pid()
	OR usesysid IS NOT NULL AND backend_type IS NULL OR state {=} 'disabled'
	OR xact_start IS NOT NULL AND backend_type {<>} 'autovacuum worker'
		AND NOT (backend_type {=} 'client backend' AND state {=} 'idle')
	OR xact_start IS NULL AND (state {~~} 'idle in transaction%'
		OR state {=} 'active' AND backend_type {=} 'client backend'))
ORDER BY pid {<>} pg_catalog.pg_backend_pid()`)

// The columns of a session as PREPARE TRANSACTION ends it: the transaction is in pg_prepared_xacts before xact_start is
// cleared (PrepareTransaction in xact.c). So it is read after pg_stat_activity, in a separate statement.
var postgresPrepared = pgsql.Qualified.Replace(`SELECT pg_catalog.count(*), coalesce(pg_catalog.min(gid), '')
FROM pg_catalog.pg_prepared_xacts WHERE database {=} pg_catalog.current_database()`)

const (
	postgresTries = 100
	postgresPause = 20 * time.Millisecond
)

// readPostgres reads the sessions of the database, again while one may begin or end a transaction.
func readPostgres(ctx context.Context, conn *sql.Conn) (snapshot, error) {
	s, suspects, err := postgresActivity(ctx, conn)
	for range postgresTries {
		if err != nil || len(suspects) == 0 {
			break
		}

		select {
		case <-time.After(postgresPause):
		case <-ctx.Done():
			return snapshot{}, ctx.Err()
		}

		var now map[int64]bool
		s, now, err = postgresActivity(ctx, conn)
		maps.DeleteFunc(suspects, func(pid int64, _ bool) bool { return !now[pid] })
	}

	if err != nil {
		return snapshot{}, err
	}

	for pid := range suspects {
		return snapshot{}, unknown("process %d shows no start of its transaction, as after track_activities = off", pid)
	}

	var prepared int
	var gid string
	if err := conn.QueryRowContext(ctx, postgresPrepared).Scan(&prepared, &gid); err != nil {
		return snapshot{}, err
	}

	if prepared > 0 {
		return snapshot{}, unknown("%d prepared, such as %q, and the server does not keep their start: "+
			"commit or roll back", prepared, gid)
	}

	return s, nil
}

// postgresActivity returns also the processes that show no start of a transaction. Their last statement counts, which
// is right for those that were not among them in an earlier read.
func postgresActivity(ctx context.Context, conn *sql.Conn) (s snapshot, suspects map[int64]bool, err error) {
	suspects = map[int64]bool{}
	err = sqltable.Query(ctx, conn, postgresSessions, nil, func(scan func(...any) error) error {
		var own, hidden, standby, yugabyte bool
		var pid, now int64
		var user, application, state string
		var begin, query sql.NullInt64
		err := scan(&own, &pid, &user, &application, &state, &hidden, &now, &begin, &query, &standby, &yugabyte)

		switch {
		case err != nil:
			return err
		case standby:
			return unknown("the server is a standby, and the transactions are on the primary")
		case yugabyte:
			return unknown("a node of YugabyteDB shows only its own")
		case hidden:
			return unknown("process %d is of the role %q: "+
				"GRANT pg_read_all_stats to the role that reads, or use the same role", pid, user)
		case !begin.Valid && query.Valid:
			suspects[pid] = true
			s.record(time.UnixMicro(query.Int64),
				"process %d of the role %q, application %q, begins or ends a transaction", pid, user, application)
		case !begin.Valid:
			return unknown("process %d has or had track_activities = off", pid)
		case own:
			s = snapshotAt(time.UnixMicro(now))
		default:
			s.record(time.UnixMicro(begin.Int64), "process %d of the role %q, application %q, is in a transaction (%s)",
				pid, user, application, state)
		}

		return nil
	})
	if err == nil && s.now.IsZero() { // CockroachDB has the view, and no rows
		err = unknown("pg_stat_activity does not list this connection")
	}

	return s, suspects, err
}

const (
	mysqlTries = 20
	mysqlPause = 100 * time.Millisecond // longer than the server caches the list, see mysqlList
)

// mysqlStatements lists what other connections run. A statement that waits for a metadata lock, behind LOCK TABLES,
// ALTER TABLE or a backup, is in no list of transactions. TIME is how long a statement runs, in whole seconds, rounded
// down. Threads of the server itself wait for work most of the time.
//
// UTC_TIMESTAMP is the time at which the statement began. SET timestamp changes it, but not SYSDATE.
const mysqlStatements = `SELECT ID, ID = CONNECTION_ID(), COALESCE(TIME, 0), COALESCE(STATE, ''),
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) NOT BETWEEN 0 AND 10000000
FROM information_schema.PROCESSLIST
WHERE ID = CONNECTION_ID() OR COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')
	AND USER NOT IN ('system user', 'unauthenticated user')`

// mysqlList lists the transactions. The server caches the list until it has not been read for 0.1 s, so with several
// readers it may have any age (can_cache_be_updated in trx0i_s.cc). The query therefore has a random text, and its own
// transaction must be in the list as one that runs that query.
//
// Times are in the zone of the server's operating system, whatever the session's zone is. Where an hour is repeated in
// autumn, the earlier one is meant (Lord Howe Island repeats half an hour, which is not recognized).
const mysqlList = `SELECT '%[1]s', trx_mysql_thread_id, trx_mysql_thread_id = CONNECTION_ID(),
	COALESCE(LOCATE('%[1]s', trx_query), 0) > 0, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ` + mysqlStarted + `)
FROM information_schema.innodb_trx`

// mysqlStarted converts trx_started to UTC.
const mysqlStarted = `CASE
	WHEN CONVERT_TZ(CONVERT_TZ(trx_started, 'SYSTEM', '+00:00') - INTERVAL 1 HOUR, '+00:00', 'SYSTEM') = trx_started
	THEN CONVERT_TZ(trx_started, 'SYSTEM', '+00:00') - INTERVAL 1 HOUR
	ELSE CONVERT_TZ(trx_started, 'SYSTEM', '+00:00') END`

// readMySQL reads the statements and the transactions of the server, again while what it shows may pass.
func readMySQL(ctx context.Context, conn *sql.Conn) (snapshot, error) {
	// It is in the list at once, at any isolation level.
	if _, err := conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
		return snapshot{}, err
	}
	defer rollback(ctx, conn)

	// A proxy may send the transaction to a replica, so the server is checked inside of it.
	if err := checkMySQL(ctx, conn); err != nil {
		return snapshot{}, err
	}

	for try := 1; ; try++ {
		// The statements first: one that stops waiting later is in the list of transactions then.
		s, err := mysqlRunning(ctx, conn)
		if err == nil {
			err = s.mysqlTransactions(ctx, conn)
		}

		var passing passingError
		if !errors.As(err, &passing) {
			return s, err
		}
		if try == mysqlTries {
			return snapshot{}, passing.error
		}

		select {
		case <-time.After(mysqlPause + mathrand.N(mysqlPause)):
		case <-ctx.Done():
			return snapshot{}, errors.Join(ctx.Err(), passing.error)
		}
	}
}

// passingError is one that may be over after a pause.
type passingError struct{ error }

// checkMySQL rejects servers where other servers write. Not all of them have all of the variables. A reader of Aurora
// has innodb_read_only.
func checkMySQL(ctx context.Context, conn *sql.Conn) error {
	const query = `SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'innodb_read_only') AND value = 'ON'
	OR variable_name = 'wsrep_on' AND value = 'ON'
	OR variable_name = 'group_replication_single_primary_mode' AND value = 'OFF'`
	var name, value string
	err := conn.QueryRowContext(ctx, query).Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return unknown("the server has %s = %s, so other servers may have some", name, value)
}

// mysqlRunning returns the time, and the start of the oldest statement.
func mysqlRunning(ctx context.Context, conn *sql.Conn) (s snapshot, err error) {
	err = sqltable.Query(ctx, conn, mysqlStatements, nil, func(scan func(...any) error) error {
		var connection, seconds, now int64
		var own, changed bool
		var state string
		err := scan(&connection, &own, &seconds, &state, &now, &changed)

		if s.now.IsZero() {
			s = snapshotAt(time.UnixMicro(now))
		}

		switch {
		case err != nil:
			return err
		case changed:
			return unknown("the time of the session that reads was changed by SET timestamp, " +
				"or the server stood still: SET timestamp = DEFAULT")
		case seconds < -1 && !own: // -1 is one that has begun while the list was made
			return passingError{unknown("connection %d runs a statement that begins in the future, "+
				"as after SET timestamp", connection)}
		case !own:
			s.record(s.now.Add(-time.Duration(seconds+1)*time.Second), "connection %d runs a statement (%s)",
				connection, state)
		}

		return nil
	})
	if err == nil && s.now.IsZero() {
		err = unknown("information_schema.PROCESSLIST does not list this connection")
	}

	return s, mysqlError(err)
}

// mysqlTransactions returns a passingError for a list that is older than the query, and for a transaction without a
// connection: the server briefly has internal ones.
func (s *snapshot) mysqlTransactions(ctx context.Context, conn *sql.Conn) error {
	isNew, detached := false, false
	query := fmt.Sprintf(mysqlList, rand.Text())
	err := sqltable.Query(ctx, conn, query, nil, func(scan func(...any) error) error {
		var text string
		var connection int64
		var own, current bool
		var begin sql.NullInt64
		err := scan(&text, &connection, &own, &current, &begin)

		switch {
		case err != nil:
			return err
		case own:
			isNew = isNew || current
		case connection == 0:
			detached = true
		case !begin.Valid:
			return unknown("the transaction of connection %d has no start", connection)
		default:
			s.record(time.UnixMicro(begin.Int64), "connection %d is in a transaction", connection)
		}

		return nil
	})

	switch {
	case err != nil:
		return mysqlError(err)
	case !isNew:
		return passingError{unknown("information_schema.innodb_trx is old, as others read it all the time: "+
			"do so less than once in %v", mysqlPause)}
	case detached:
		return passingError{unknown("one has no connection, as after XA PREPARE, and its start may be lost: " +
			"commit or roll back (XA RECOVER)")}
	}

	return nil
}

// mysqlError names the right that is missing; nil stays nil. MariaDB reports that before the rows, MySQL instead of
// them. MySQL 9 can't show its lists while a statement with binary data runs, which is a passingError. The numbers are
// read from the text, so that no driver has to be imported.
func mysqlError(err error) error {
	switch text := fmt.Sprint(err); {
	case strings.Contains(text, "Error 3854 "): // ER_CANNOT_CONVERT_STRING
		return passingError{fmt.Errorf("%w: %w", ErrUnknown, err)}
	case strings.Contains(text, "1227 (42000)"): // ER_SPECIFIC_ACCESS_DENIED_ERROR
		return fmt.Errorf("%w: GRANT PROCESS ON *.* to the user that reads: %w", ErrUnknown, err)
	}
	return err
}

// rollback ends the transaction of a connection, or the connection. A connection without one stays, as it may be the
// only one of a database in memory.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()

	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// readSQLite takes the write lock. While it has it, no transaction is open that has written; all that get the lock
// later begin after the time that is returned.
func readSQLite(ctx context.Context, conn *sql.Conn) (snapshot, error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if ctx.Err() != nil { // a driver may return that although it has begun, as modernc.org/sqlite does
			rollback(ctx, conn)
		}
		return snapshot{}, err
	}
	defer rollback(ctx, conn)

	var now int64
	const milliseconds = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
	if err := conn.QueryRowContext(ctx, milliseconds).Scan(&now); err != nil {
		return snapshot{}, err
	}

	return snapshotAt(time.UnixMilli(now)), nil
}
