package settled

import (
	"context"
	"database/sql"
	"maps"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
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
	rows, err := conn.QueryContext(ctx, postgresSessions)
	if err != nil {
		return snapshot{}, nil, err
	}
	defer rows.Close()

	suspects = map[int64]bool{}
	for rows.Next() {
		var own, hidden, standby, yugabyte bool
		var pid, now int64
		var user, application, state string
		var begin, query sql.NullInt64
		err := rows.Scan(&own, &pid, &user, &application, &state, &hidden, &now, &begin, &query, &standby, &yugabyte)
		if err != nil {
			return snapshot{}, nil, err
		}

		switch {
		case standby:
			return snapshot{}, nil, unknown("the server is a standby, and the transactions are on the primary")
		case yugabyte:
			return snapshot{}, nil, unknown("a node of YugabyteDB shows only its own")
		case hidden:
			return snapshot{}, nil, unknown("process %d is of the role %q: "+
				"GRANT pg_read_all_stats to the role that reads, or use the same role", pid, user)
		case !begin.Valid && query.Valid:
			suspects[pid] = true
			s.record(time.UnixMicro(query.Int64),
				"process %d of the role %q, application %q, begins or ends a transaction", pid, user, application)
		case !begin.Valid:
			return snapshot{}, nil, unknown("process %d has or had track_activities = off", pid)
		case own:
			s = snapshotAt(time.UnixMicro(now))
		default:
			s.record(time.UnixMicro(begin.Int64), "process %d of the role %q, application %q, is in a transaction (%s)",
				pid, user, application, state)
		}
	}

	if err := rows.Err(); err != nil {
		return snapshot{}, nil, err
	}
	if s.now.IsZero() { // CockroachDB has the view, and no rows
		return snapshot{}, nil, unknown("pg_stat_activity does not list this connection")
	}

	return s, suspects, nil
}
