package sqllease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A server's identity is a text that differs between a primary and the replica that is promoted in its place. The row of
// the namespace keeps the one of the server that has served it last. If they differ, the replica may not have had the
// last commits of the primary.

// noIdentity is the expression for servers that do not tell, or that are several which agree on each commit.
const noIdentity = "''"

// The system identifier is that of the cluster's files, the timeline is counted up by each promotion and by each
// recovery to a point in time. pg_control_checkpoint has the timeline only after the next checkpoint; the name of the
// current WAL file begins with it. A replica that does not write has none.
const postgresIdentity = "CASE WHEN pg_catalog.pg_is_in_recovery() THEN '' ELSE " +
	"(SELECT to_hex(system_identifier) FROM pg_catalog.pg_control_system()) || ' ' || " +
	"substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END"

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
	identity, warning, err := noIdentity, error(nil), error(nil)
	switch s.dialect {
	case postgres:
		identity, warning, err = s.askPostgres(ctx)
	case mysql:
		identity, warning, err = s.askMySQL(ctx)
	}
	if err != nil {
		return nil, err
	}
	q := newQueries(s.dialect, s.table, identity)
	q.warning, q.forgets = warning, identity != noIdentity
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
	_, err := s.db.ExecContext(ctx, q.meet, seen, horizon, horizon, reach, reach, reach, reach, seen, namespace, reach, seen)
	return err
}

// horizon returns the greatest of the leases that are held, in milliseconds since 1970. Those that are too far ahead to
// wait for don't count.
func (s *Store) horizon(ctx context.Context, namespace string) (greatest int64, err error) {
	entries, err := s.list(ctx, namespace)
	for _, e := range entries {
		horizon, ok := e.HorizonTime()
		if ok && e.Held && time.Until(horizon) < lease.MaxWindow {
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
	has, _, err := s.number(ctx, "SELECT CASE WHEN version() LIKE '%-YB-%' THEN 0 ELSE 1 + length("+postgresIdentity+") END")
	if identity = postgresIdentity; err != nil || has == 0 {
		identity = noIdentity
	}
	switch state := sqlState(err); {
	case state == "42883", state == "0A000", state == "55000": // no such function, not supported, not in this state
	case state == "42501":
		warning = fmt.Errorf("lease: table %s: the role has no right to ask what server it is, so IDs may repeat after "+
			"a failover to a replica that lags: %w", s.table, err)
	case err != nil:
		return "", nil, err
	}
	risk, err := s.askPostgresRisks(ctx)
	return identity, errors.Join(warning, risk), err
}

// sqlState returns the code of an error of pgx and lib/pq; "" for others.
func sqlState(err error) string {
	var refusal interface{ SQLState() string }
	if errors.As(err, &refusal) {
		return refusal.SQLState()
	}
	return ""
}

// askMySQL returns the expression of the identity. Variables that a server does not have would be errors there, so it
// lists them.
func (s *Store) askMySQL(ctx context.Context) (identity string, warning, err error) {
	has := map[string]string{}
	err = s.query(ctx, `SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'version', 'server_uuid', 'wsrep_on',
	'group_replication_group_name', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog')`, nil, func(scan scan) error {
		var name, value string
		err := scan(&name, &value)
		has[name] = value
		return err
	})
	switch {
	case err != nil:
		return "", nil, err
	case strings.EqualFold(has["autocommit"], "off"):
		return "", nil, fmt.Errorf("%w: the connections to table %s have autocommit = 0", lease.ErrOption, s.table)
	case strings.Contains(has["version"], "TiDB"): // its servers agree on each commit
		return noIdentity, nil, nil
	}
	if warning, err = s.askMySQLRisks(ctx, has); err != nil {
		return "", nil, err
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
	// Binary, since the collations of columns and variables differ.
	return "CAST(" + identity + " AS BINARY)", warning, nil
}
