package sqllease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/operator"
	"github.com/sqlflake/sqlflake/snowflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A server's identity is a text that differs between a primary and the replica that is promoted in its place. The row of
// the namespace keeps the one of the server that has served it last. If they differ, the replica may not have had the
// last commits of the primary.

// noIdentity is the expression for servers that do not tell, or that are several which agree on each commit.
const noIdentity = "NULL"

// unreplicated is the identity in a session whose statements replicas repeat. Each replica would put its own identity
// in the place of the primary's, and miss what depends on that. It is in no row, so no statement with a condition on
// the identity does anything there.
const unreplicated = "'binlog_format = STATEMENT'"

// The system identifier is that of the cluster's files, the timeline is counted up by each promotion and by each
// recovery to a point in time. pg_control_checkpoint has the timeline only after the next checkpoint; the name of the
// current WAL file begins with it. A replica that does not write has none.
const postgresIdentity = "CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.concat(" +
	"(SELECT pg_catalog.to_hex(system_identifier) FROM pg_catalog.pg_control_system()), ' ', " +
	"pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)) END"

// postgresIdentityTest is 0 for YugabyteDB, and otherwise the length of the identity and one.
var postgresIdentityTest = operator.Qualified.Replace("SELECT CASE WHEN pg_catalog.version() {~~} '%-YB-%' THEN 0 " +
	"ELSE pg_catalog.length(pg_catalog.concat('1', " + postgresIdentity + ")) END")

// prepare returns the statements for the server, and first queries its identity if that is unknown.
func (s *Store) prepare(ctx context.Context) (*queries, error) {
	if q := s.queries.Load(); q != nil {
		return q, nil
	}
	return s.renew(ctx)
}

// renew is prepare for a server that seems to be another one. It always queries: the same server may have another
// identity by now, for example after the installation of a plugin.
func (s *Store) renew(ctx context.Context) (*queries, error) {
	s.queries.Store(nil)
	identity, place, warning, err := noIdentity, sqltable.Place{}, error(nil), error(nil)
	switch s.dialect {
	case postgres:
		if identity, warning, err = s.askPostgres(ctx); err == nil {
			place, err = s.definition(ctx).Find(ctx)
		}
	case mysql:
		identity, place, err = s.askMySQL(ctx)
	}
	if err != nil {
		return nil, err
	}

	// With its schema the table stays the same one on each connection, also if a stranger makes one that comes before it in
	// the search_path.
	table := s.table
	if s.dialect == postgres && place.Table != "" {
		table = place.Table
		if !s.found.CompareAndSwap(nil, &table) && *s.found.Load() != table {
			return nil, fmt.Errorf("%w: the table %s was %s, and is %s now: start the process again if all of them use the new one",
				lease.ErrOption, s.table, *s.found.Load(), table)
		}
	}
	q := newQueries(s.dialect, table, identity)
	q.place, q.warning, q.forgets = place, errors.Join(warning, s.warn(place)), identity != noIdentity
	s.queries.Store(&q)
	return &q, nil
}

// meet makes the server that executes it the one of the namespace, and raises the namespace's reach. A server with an
// older revision than this process has seen is another one in the same place: an old primary that was made primary again,
// or a backup that was restored.
//
// The time that it records is that of the server, or horizon if that is further ahead than the reach: then the clocks of
// the server before and of its owners were ahead, and owners that it has forgotten may have gone as far.
func (s *Store) meet(ctx context.Context, q *queries, namespace string, reach, horizon int64) error {
	seen := s.revision(namespace)
	_, err := s.on(ctx).ExecContext(ctx, q.meet, seen, horizon, horizon, reach, reach, reach, reach, seen, namespace, reach, seen)
	return err
}

// horizon returns the greatest of the leases that are held, in milliseconds since 1970. Those that are too far ahead to
// wait for don't count.
func (s *Store) horizon(ctx context.Context, namespace string) (greatest int64, err error) {
	entries, err := s.list(ctx, namespace)
	for _, e := range entries {
		horizon, ok := e.HorizonTime()
		if ok && e.Worker >= 0 && e.Held && time.Until(horizon) < lease.MaxWindow {
			greatest = max(greatest, horizon.UnixMilli())
		}
	}
	return greatest, err
}

// revision returns the greatest one of the namespace's row that this process has seen.
func (s *Store) revision(namespace string) int64 {
	seen, _ := s.revisions.Load(namespace)
	revision, _ := seen.(int64)
	return revision
}

func (s *Store) sawRevision(namespace string, revision int64) {
	for {
		seen, loaded := s.revisions.LoadOrStore(namespace, revision)
		if !loaded || seen.(int64) >= revision || s.revisions.CompareAndSwap(namespace, seen, revision) {
			return
		}
	}
}

// askPostgres returns the expression of the identity. Servers that speak PostgreSQL's protocol may not have the functions
// (CockroachDB), or refuse them (Aurora). In YugabyteDB each node has its own files. The nodes agree on each commit. A role
// that lacks the right is another matter, so there is a warning.
func (s *Store) askPostgres(ctx context.Context) (identity string, warning, err error) {
	has, _, err := s.number(ctx, postgresIdentityTest)
	if identity = postgresIdentity; err != nil || has == 0 {
		identity = noIdentity
	}
	switch state := sqltable.State(err); {
	case state == "42883", state == "0A000", state == "55000": // no such function, not supported, not in this state
	case state == "42501":
		warning = fmt.Errorf("lease: table %s: the role has no right to ask what server it is, so IDs may repeat after "+
			"a failover to a replica that lags: %w", s.table, err)
	case err != nil:
		return "", nil, err
	}
	return identity, warning, nil
}

// askMySQL returns the expression of the identity, and where the table is. Variables that a server does not have would be
// errors there, so it lists them.
func (s *Store) askMySQL(ctx context.Context) (identity string, place sqltable.Place, err error) {
	has := map[string]string{}
	err = s.query(ctx, `SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'version', 'server_uuid', 'wsrep_on',
	'group_replication_group_name', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog',
	'binlog_format')`, nil, func(scan scan) error {
		var name, value string
		err := scan(&name, &value)
		has[name] = value
		return err
	})
	switch {
	case err != nil:
		return "", place, err
	case strings.EqualFold(has["autocommit"], "off") || has["autocommit"] == "0": // the latter is Vitess's
		return "", place, fmt.Errorf("%w: the connections to table %s have autocommit = 0", lease.ErrOption, s.table)
	case strings.EqualFold(has["log_bin"], "on") && strings.EqualFold(has["binlog_format"], "statement"):
		return "", place, fmt.Errorf("%w: the connections to table %s have binlog_format = STATEMENT, with which a failover "+
			"would not be noticed; set it to ROW or MIXED", lease.ErrOption, s.table)
	case strings.Contains(has["version"], "TiDB"): // its servers agree on each commit
		return noIdentity, place, nil
	}
	if place, err = s.askMySQLPlace(ctx, has); err != nil {
		return "", place, err
	}

	identity = "CONCAT('server ', @@GLOBAL.server_id)" // MariaDB has no more; replication needs different ones
	if _, ok := has["server_uuid"]; ok {
		identity = "@@server_uuid"
	}
	// Servers of a cluster agree on each commit.
	if _, ok := has["group_replication_group_name"]; ok {
		identity = "COALESCE(CONCAT('group ', NULLIF(@@group_replication_group_name, '')), " + identity + ")"
	}
	if _, ok := has["wsrep_on"]; ok { // its value may change
		identity = "CASE WHEN @@GLOBAL.wsrep_on THEN CONCAT('cluster ', @@GLOBAL.wsrep_cluster_name) ELSE " + identity + " END"
	}
	if has["binlog_format"] != "" && has["log_bin"] != "" {
		identity = "CASE WHEN @@log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN " + unreplicated +
			" ELSE " + identity + " END"
	}
	// Binary, since the collations of columns and variables differ.
	return "CAST(" + identity + " AS BINARY)", place, nil
}
