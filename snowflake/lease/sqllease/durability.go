package sqllease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/internal/sqltable"
)

// A server that crashes and forgets commits comes back with the identity that it had, so the store can't notice it. What
// makes it forget is known before.

// mysqlPlace asks where the table is. The information schema has the names without quotes.
const mysqlPlace = `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME),
	CASE WHEN ENGINE IN ('MyISAM', 'Aria', 'MEMORY') THEN CONCAT('the engine ', ENGINE) ELSE '' END
FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = '{table}'`

// askMySQLPlace returns where the table is. It counts what the server has, whatever the session is set to. The servers of
// a cluster agree on each commit, and all of them would have to crash.
func (s *Store) askMySQLPlace(ctx context.Context, has map[string]string) (place sqltable.Place, err error) {
	schema, table, found := strings.Cut(strings.ReplaceAll(s.table, "`", ""), ".")
	if schema = "'" + schema + "'"; !found {
		schema, table = "DATABASE()", strings.Trim(schema, "'")
	}
	query := strings.NewReplacer("{schema}", schema, "{table}", table).Replace(mysqlPlace)
	err = s.query(ctx, query, nil, func(scan scan) error { return scan(&place.Table, &place.Risks) })

	if err == nil && !strings.EqualFold(has["wsrep_on"], "on") && has["group_replication_group_name"] == "" {
		risks := []string{place.Risks}
		if flush := has["innodb_flush_log_at_trx_commit"]; flush == "0" || flush == "2" {
			risks = append(risks, "innodb_flush_log_at_trx_commit = "+flush)
		}
		// What the binary log does not have after a crash is rolled back.
		if sync, ok := has["sync_binlog"]; ok && sync != "1" && strings.EqualFold(has["log_bin"], "on") {
			risks = append(risks, "sync_binlog = "+sync)
		}
		place.Risks = strings.TrimPrefix(strings.Join(risks, ", "), ", ")
	}
	return place, err
}

// warn returns the warning about a table.
func (s *Store) warn(place sqltable.Place) (warning error) {
	if place.Risks != "" {
		warning = fmt.Errorf("lease: table %s: the server may forget commits when it crashes, and IDs may repeat then: %s",
			cmp.Or(place.Table, s.table), place.Risks)
	}
	if place.Others != "" {
		warning = errors.Join(warning, fmt.Errorf("lease: table %s: the database also has %s, whose leases may have the same IDs: "+
			"if it is meant, name the table with its schema", place.Table, place.Others))
	}
	return warning
}
