package sqllease

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/internal/operator"
)

// A server that crashes and forgets commits comes back with the identity that it had, so the store can't notice it. What
// makes it forget is known before.

// postgresRisks asks for what makes PostgreSQL forget commits, as text.
var postgresRisks = operator.Qualified.Replace(`SELECT pg_catalog.concat_ws(', ',
	CASE WHEN pg_catalog.current_setting('fsync', true) {=} 'off' THEN 'fsync = off' END,
	CASE WHEN pg_catalog.current_setting('synchronous_commit', true) {=} 'off' THEN 'synchronous_commit = off' END,
	(SELECT 'the table is unlogged' FROM pg_catalog.pg_class
		WHERE oid {=} pg_catalog.to_regclass('{table}') AND relpersistence {<>} 'p'))`)

// mysqlRisks is the same for the engine of the table. The information schema has the names without quotes.
const mysqlRisks = `SELECT CONCAT('the engine ', ENGINE) FROM information_schema.TABLES
WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = '{table}' AND ENGINE IN ('MyISAM', 'Aria', 'MEMORY')`

// askPostgresRisks returns a warning if a crash makes the server forget commits. It counts what the connection really
// has, whether the server, the database, the role or the DSN has set it.
func (s *Store) askPostgresRisks(ctx context.Context) (warning, err error) {
	risks, err := s.texts(ctx, strings.ReplaceAll(postgresRisks, "{table}", s.table))
	if sqlState(err) != "" { // a server that only speaks the protocol
		return nil, nil
	}
	return s.risky(risks), err
}

// askMySQLRisks is the same for a server with these variables. The servers of a cluster agree on each commit, and all of
// them would have to crash.
func (s *Store) askMySQLRisks(ctx context.Context, has map[string]string) (warning, err error) {
	schema, table, found := strings.Cut(strings.ReplaceAll(s.table, "`", ""), ".")
	if schema = "'" + schema + "'"; !found {
		schema, table = "DATABASE()", strings.Trim(schema, "'")
	}
	risks, err := s.texts(ctx, strings.NewReplacer("{schema}", schema, "{table}", table).Replace(mysqlRisks))
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(has["wsrep_on"], "on") && has["group_replication_group_name"] == "" {
		if flush := has["innodb_flush_log_at_trx_commit"]; flush == "0" || flush == "2" {
			risks = append(risks, "innodb_flush_log_at_trx_commit = "+flush)
		}
		// What the binary log does not have after a crash is rolled back.
		if sync, ok := has["sync_binlog"]; ok && sync != "1" && strings.EqualFold(has["log_bin"], "on") {
			risks = append(risks, "sync_binlog = "+sync)
		}
	}
	return s.risky(risks), nil
}

func (s *Store) risky(risks []string) error {
	if text := strings.Join(risks, ", "); text != "" {
		return fmt.Errorf("lease: table %s: the server may forget commits when it crashes, and IDs may repeat then: %s", s.table, text)
	}
	return nil
}

// texts runs a statement that answers with rows of one text.
func (s *Store) texts(ctx context.Context, query string) (answers []string, err error) {
	err = s.query(ctx, query, nil, func(scan scan) error {
		var text string
		err := scan(&text)
		answers = append(answers, text)
		return err
	})
	return answers, err
}
