package sqllease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/internal/sqltable"
)

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

// warn returns the warning about the tables. Risks may be empty, or the same for both.
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
