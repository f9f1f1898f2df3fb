package settled

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

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
	rows, err := conn.QueryContext(ctx, mysqlStatements)
	if err != nil {
		return snapshot{}, mysqlError(err)
	}
	defer rows.Close()

	for rows.Next() {
		var connection, seconds, now int64
		var own, changed bool
		var state string
		if err := rows.Scan(&connection, &own, &seconds, &state, &now, &changed); err != nil {
			return snapshot{}, err
		}

		if s.now.IsZero() {
			s = snapshotAt(time.UnixMicro(now))
		}

		switch {
		case changed:
			return snapshot{}, unknown("the time of the session that reads was changed by SET timestamp, " +
				"or the server stood still: SET timestamp = DEFAULT")
		case seconds < -1 && !own: // -1 is one that has begun while the list was made
			return snapshot{}, passingError{unknown("connection %d runs a statement that begins in the future, "+
				"as after SET timestamp", connection)}
		case !own:
			s.record(s.now.Add(-time.Duration(seconds+1)*time.Second), "connection %d runs a statement (%s)",
				connection, state)
		}
	}

	if err := rows.Err(); err != nil {
		return snapshot{}, mysqlError(err)
	}
	if s.now.IsZero() {
		return snapshot{}, unknown("information_schema.PROCESSLIST does not list this connection")
	}

	return s, nil
}

// mysqlTransactions returns a passingError for a list that is older than the query, and for a transaction without a
// connection: the server briefly has internal ones.
func (s *snapshot) mysqlTransactions(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(mysqlList, rand.Text()))
	if err != nil {
		return mysqlError(err)
	}
	defer rows.Close()

	isNew, detached := false, false
	for rows.Next() {
		var text string
		var connection int64
		var own, current bool
		var begin sql.NullInt64
		if err := rows.Scan(&text, &connection, &own, &current, &begin); err != nil {
			return err
		}

		switch {
		case own:
			isNew = isNew || current
		case connection == 0:
			detached = true
		case !begin.Valid:
			return unknown("the transaction of connection %d has no start", connection)
		default:
			s.record(time.UnixMicro(begin.Int64), "connection %d is in a transaction", connection)
		}
	}

	switch err := rows.Err(); {
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

// mysqlError names the right that is missing. MariaDB reports that before the rows, MySQL instead of them. MySQL 9
// can't show its lists while a statement with binary data runs, which is a passingError. The numbers are read from the
// text, so that no driver has to be imported.
func mysqlError(err error) error {
	if strings.Contains(err.Error(), "Error 3854 ") { // ER_CANNOT_CONVERT_STRING
		return passingError{fmt.Errorf("%w: %w", ErrUnknown, err)}
	}
	if strings.Contains(err.Error(), "1227 (42000)") { // ER_SPECIFIC_ACCESS_DENIED_ERROR
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
