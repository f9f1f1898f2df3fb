package sqllease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A server's identity is a text that differs between a primary and the replica that is promoted in its place. The row
// of the namespace keeps the one of the server that has served it last. If they differ, the replica may not have had
// the last commits of the primary.

// noIdentity is the expression for servers that do not reveal it, and for a group of servers that agree on each commit.
const noIdentity = "''"

// statementBinlog is the identity in a session whose statements replicas repeat. Each replica would put its own
// identity in the place of the primary's, and miss what depends on that. It is in no row, so no statement with a
// condition on the identity does anything there.
const statementBinlog = "'binlog_format = STATEMENT'"

// The cluster's files have the system identifier; the timeline is counted up by each promotion and by each
// recovery to a point in time. pg_control_checkpoint has the timeline only after the next checkpoint; the name of the
// current WAL file begins with it. A replica that does not write has none.
const postgresIdentity = "CASE WHEN pg_catalog.pg_is_in_recovery() THEN CAST('' AS pg_catalog.text) ELSE " +
	"pg_catalog.concat((SELECT pg_catalog.to_hex(system_identifier) FROM pg_catalog.pg_control_system()), ' ', " +
	"pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)) END"

// postgresIdentityTest is 0 for YugabyteDB, and otherwise the length of the identity and one.
const postgresIdentityTest = "SELECT CASE WHEN pg_catalog.version() OPERATOR(pg_catalog.~~) '%-YB-%' THEN 0 " +
	"ELSE pg_catalog.length(pg_catalog.concat('1', " + postgresIdentity + ")) END"

// currentServer returns the server, and first queries its identity if that is unknown.
func (s *Store) currentServer(ctx context.Context) (*server, error) {
	if server := s.server.Load(); server != nil {
		return server, nil
	}
	return s.identify(ctx)
}

// identify is currentServer for a server that seems to be another one. It always queries: the same server may have
// another identity by now, for example after the installation of a plugin.
func (s *Store) identify(ctx context.Context) (*server, error) {
	s.server.Store(nil)
	var fresh *server
	var err error
	switch s.dialect {
	case postgres:
		fresh, err = s.identifyPostgres(ctx)
	case mysql:
		fresh, err = s.identifyMySQL(ctx)
	default:
		fresh = s.newServer(noIdentity)
	}
	if err != nil {
		return nil, err
	}

	// With their schema the tables stay the same on each connection, even if a stranger makes some that come before
	// them in the search_path.
	if fresh.tables != s.tables {
		if !s.found.CompareAndSwap(nil, &fresh.tables) && *s.found.Load() != fresh.tables {
			return nil, fmt.Errorf("%w: the table %s was %s when this process began, and is %s now: start it again if "+
				"all processes use the new table, or correct the search_path",
				lease.ErrOption, s.tables.leases, s.found.Load().leases, fresh.tables.leases)
		}
	}
	s.server.Store(fresh)
	return fresh, nil
}

// newServer returns a server whose identity is the given expression.
func (s *Store) newServer(identity string) *server {
	return &server{
		texts: textsOf[s.dialect], dialect: s.dialect, tables: s.tables, identity: identity,
		forgets: identity != noIdentity, shown: shown(s.tables.leases),
	}
}

// recordServer makes the server that answers the one of the namespace, and raises the reach. If it changes nothing,
// another caller was faster, or the server is a replica that only reads: the conditions of the statements that follow
// decide.
func (s *Store) recordServer(
	ctx context.Context, server *server, namespace string, reach time.Duration, horizon int64,
) error {
	_, err := server.change(ctx, s.on(ctx), server.recordServer, named{
		"namespace": namespace, "revision": s.revision(namespace), "horizon_ms": horizon,
		"reach_ms": milliseconds(reach),
	})
	return err
}

// recordNewServer asks which server answers, and records it with the greatest horizon.
func (s *Store) recordNewServer(ctx context.Context, namespace string, reach time.Duration) (*server, error) {
	server, err := s.identify(ctx)
	if err != nil {
		return nil, err
	}
	horizon, err := s.horizon(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return server, s.recordServer(ctx, server, namespace, reach, horizon)
}

// horizon returns the greatest of the leases that are held, in milliseconds since 1970. Those that are too far ahead to
// wait for don't count.
func (s *Store) horizon(ctx context.Context, namespace string) (greatest int64, err error) {
	entries, err := s.list(ctx, namespace)
	for _, e := range entries {
		horizon, ok := e.HorizonTime()
		isNear := ok && time.Until(horizon) < lease.MaxWindow
		if e.Held && isNear {
			greatest = max(greatest, horizon.UnixMilli())
		}
	}
	return greatest, err
}

// revision returns the greatest one of the namespace's row that this process has seen.
func (s *Store) revision(namespace string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revisions[namespace]
}

func (s *Store) sawRevision(namespace string, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[namespace] = max(s.revisions[namespace], revision)
}

// identifyPostgres returns the expression of the identity. Servers that speak PostgreSQL's protocol may not have the
// functions (CockroachDB), or refuse them (Aurora). In YugabyteDB each node has its own files. The nodes agree on each
// commit. A role that lacks the right is another matter, so there is a warning.
func (s *Store) identifyPostgres(ctx context.Context) (*server, error) {
	has := 0
	err := sqltable.Query(ctx, s.on(ctx), postgresIdentityTest, nil, func(scan scan) error { return scan(&has) })
	identity, warning := postgresIdentity, error(nil)
	if err != nil || has == 0 {
		identity = noIdentity
	}

	switch state := sqltable.State(err); {
	case state == "42883", state == "0A000", state == "55000": // no such function, not supported, not in this state
	case state == "42501":
		warning = fmt.Errorf("lease: table %s: the role has no right to ask what server it is, so IDs may repeat "+
			"after a failover to a replica that lags: %w", s.tables.leases, err)
	case err != nil:
		return nil, err
	}

	server := s.newServer(identity)
	if server.places, err = s.definition(ctx).Find(ctx); err != nil {
		return nil, err
	}

	isMissing := func(place sqltable.Place) bool { return place.Missing }
	if places := server.places; len(places) > 0 && !slices.ContainsFunc(places, isMissing) {
		leases, namespaces := places[0], places[1]
		server.tables = tables{leases: leases.Table, namespaces: namespaces.Table}
		server.shown = leases.Table
		risks := []string{leases.Risks, namespaces.Risks}
		warning = errors.Join(warning, warn(leases.Table, risks, leases.Others))
	}
	server.warning = warning
	return server, nil
}

// identifyMySQL returns the server, and where the tables are. Variables that a server does not have would be errors
// there, so it lists them.
func (s *Store) identifyMySQL(ctx context.Context) (*server, error) {
	has := map[string]string{}
	err := sqltable.Query(ctx, s.on(ctx), `SHOW VARIABLES WHERE Variable_name IN (
	'autocommit', 'version', 'server_uuid', 'wsrep_on', 'group_replication_group_name',
	'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format')`, nil, func(scan scan) error {
		var name, value string
		err := scan(&name, &value)
		has[name] = value
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case strings.EqualFold(has["autocommit"], "off") || has["autocommit"] == "0": // the latter is Vitess's
		return nil, fmt.Errorf("%w: the connections to table %s have autocommit = 0", lease.ErrOption, s.tables.leases)
	case strings.EqualFold(has["log_bin"], "on") && strings.EqualFold(has["binlog_format"], "statement"):
		return nil, fmt.Errorf("%w: the connections to table %s have binlog_format = STATEMENT, with which a failover "+
			"would not be noticed; set it to ROW or MIXED", lease.ErrOption, s.tables.leases)
	case strings.Contains(has["version"], "TiDB"): // its servers agree on each commit
		return s.newServer(noIdentity), nil
	}

	server := s.newServer(mysqlIdentity(has))
	table, risks, err := s.findMySQLTables(ctx, has)
	if err != nil {
		return nil, err
	}
	server.shown = cmp.Or(table, server.shown)
	server.warning = warn(server.shown, risks, "")
	return server, nil
}

// mysqlIdentity returns the expression of the identity of a server that has the variables.
func mysqlIdentity(has map[string]string) string {
	identity := "CONCAT('server ', @@GLOBAL.server_id)" // MariaDB has no more; replication needs different ones
	if _, ok := has["server_uuid"]; ok {
		identity = "@@server_uuid"
	}

	// Servers of a cluster agree on each commit.
	if _, ok := has["group_replication_group_name"]; ok {
		identity = "COALESCE(CONCAT('group ', NULLIF(@@group_replication_group_name, '')), " + identity + ")"
	}
	if _, ok := has["wsrep_on"]; ok { // its value may change
		identity = "CASE WHEN @@GLOBAL.wsrep_on THEN CONCAT('cluster ', @@GLOBAL.wsrep_cluster_name) " +
			"ELSE " + identity + " END"
	}

	if has["binlog_format"] != "" && has["log_bin"] != "" {
		identity = "CASE WHEN @@log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN " + statementBinlog +
			" ELSE " + identity + " END"
	}

	// Binary, since the collations of columns and variables differ.
	return "CAST(" + identity + " AS BINARY)"
}

// A server that crashes and forgets commits comes back with the identity that it had, so the store can't notice it.
// What makes it forget is known before.

// mysqlPlaces reads where the two tables are. The information schema has the names without quotes.
const mysqlPlaces = `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME),
	CASE WHEN ENGINE IN ('MyISAM', 'Aria', 'MEMORY') THEN CONCAT('the engine ', ENGINE, ' of ', TABLE_NAME) ELSE '' END
FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ('{leases}', '{namespaces}')
ORDER BY TABLE_NAME`

// findMySQLTables returns where the leases are, and what a crash may undo. It counts what the server has, whatever the
// session is set to. The servers of a cluster agree on each commit, and all of them would have to crash.
func (s *Store) findMySQLTables(ctx context.Context, has map[string]string) (table string, risks []string, err error) {
	schema, leases := schemaAndName(s.tables.leases)
	_, namespaces := schemaAndName(s.tables.namespaces)
	names := strings.NewReplacer("{schema}", schema, "{leases}", leases, "{namespaces}", namespaces)
	err = sqltable.Query(ctx, s.on(ctx), names.Replace(mysqlPlaces), nil, func(scan scan) error {
		var name, risk string
		err := scan(&name, &risk)
		if strings.HasSuffix(name, "."+leases) {
			table = name
		}
		risks = append(risks, risk)
		return err
	})

	isCluster := strings.EqualFold(has["wsrep_on"], "on") || has["group_replication_group_name"] != ""
	if err != nil || isCluster {
		return table, risks, err
	}

	if flush := has["innodb_flush_log_at_trx_commit"]; flush == "0" || flush == "2" {
		risks = append(risks, "innodb_flush_log_at_trx_commit = "+flush)
	}
	// What the binary log does not have after a crash is rolled back.
	sync, isLogged := has["sync_binlog"], strings.EqualFold(has["log_bin"], "on")
	if isSynced := sync == "" || sync == "1"; isLogged && !isSynced {
		risks = append(risks, "sync_binlog = "+sync)
	}
	return table, risks, nil
}

// schemaAndName returns the schema of a MySQL table as an expression, and its name without quotes.
func schemaAndName(table string) (schema, name string) {
	schema, name, found := strings.Cut(shown(table), ".")
	if !found {
		return "DATABASE()", schema
	}
	return "'" + schema + "'", name
}

// warn returns the warning about the lease tables, or nil. risks has one entry for each table, "" if there is none;
// others are further lease tables of the database.
func warn(table string, risks []string, others string) (warning error) {
	risks = slices.DeleteFunc(slices.Compact(risks), func(risk string) bool { return risk == "" })
	if len(risks) > 0 {
		warning = fmt.Errorf("lease: table %s: the server may forget commits when it crashes, and IDs may repeat "+
			"then: %s", table, strings.Join(risks, ", "))
	}
	if others != "" {
		warning = errors.Join(warning, fmt.Errorf("lease: table %s: the database also has %s, whose leases may have "+
			"the same IDs: if it is meant, name the tables with their schema", table, others))
	}
	return warning
}
