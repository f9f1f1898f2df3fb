package engine

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/tempdir"
)

// Kept is a place that Cleanup did not remove, and the reason.
type Kept struct{ Place, Why string }

// Cleanup removes the places of killed runs: those with the tool's name and comment whose process on this machine has
// ended and in which no session is open.
func Cleanup(ctx context.Context, name string, c Config) (removed []string, kept []Kept, err error) {
	switch name {
	case "sqlite":
		removed, err = tempdir.Clean(c.SQLiteDir, tempdir.Files)
		return removed, nil, err
	case "postgres":
		return cleanPostgres(ctx, c.Postgres)
	case "postgres18":
		return cleanPostgres(ctx, c.Postgres18)
	case "mariadb":
		return cleanMariaDB(ctx, c)
	default:
		return nil, nil, fmt.Errorf("unknown database %q; there are %v", name, Names())
	}
}

// found is a place and what is known about it.
type found struct {
	name, comment string
	sessions      int
}

// why returns the reason for keeping the place, empty if it can be removed.
func (f found) why() string {
	if f.sessions > 0 {
		return "a session is in it"
	}
	return inUse(f.comment)
}

func drop(places []found, quote func(string) string, exec func(quoted string) error) (
	removed []string, kept []Kept, err error,
) {
	for _, place := range places {
		quoted := quote(place.name)
		if why := place.why(); why != "" {
			kept = append(kept, Kept{quoted, why})
			continue
		}
		if err := exec(quoted); err != nil {
			return removed, kept, fmt.Errorf("drop %s: %w", quoted, err)
		}
		removed = append(removed, quoted)
	}
	return removed, kept, nil
}

func cleanPostgres(ctx context.Context, dsn string) ([]string, []Kept, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, &badDSN{postgresForm, err}
	}
	e := &postgres{config: config}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	admin, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", e.where(), err)
	}
	defer closeConn(admin)
	rows, err := admin.Query(ctx, `SELECT n.nspname, coalesce(obj_description(n.oid, 'pg_namespace'), ''),
			(SELECT count(*) FROM pg_stat_activity WHERE application_name = n.nspname)
		FROM pg_namespace n WHERE n.nspname ~ $1 ORDER BY 1`, placePattern)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", e.where(), err)
	}
	places, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f found, err error) {
		return f, row.Scan(&f.name, &f.comment, &f.sessions)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", e.where(), err)
	}
	return drop(places, doubleQuoted, func(quoted string) error {
		_, err := admin.Exec(ctx, "DROP SCHEMA IF EXISTS "+quoted+" CASCADE")
		return err
	})
}

func cleanMariaDB(ctx context.Context, c Config) ([]string, []Kept, error) {
	e, err := newMariaDB(c)
	if err != nil {
		return nil, nil, err
	}
	admin, err := e.pool("")
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", e.where(), err)
	}
	defer admin.Close()
	rows, err := admin.QueryContext(ctx, `SELECT s.schema_name, COALESCE(t.table_comment, ''),
			(SELECT COUNT(*) FROM information_schema.processlist p WHERE p.db = s.schema_name)
		FROM information_schema.schemata s LEFT JOIN information_schema.tables t
			ON t.table_schema = s.schema_name AND t.table_name = ?
		WHERE s.schema_name REGEXP ? ORDER BY 1`, OwnerTable, placePattern)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", e.where(), err)
	}
	defer rows.Close()
	var places []found
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.name, &f.comment, &f.sessions); err != nil {
			return nil, nil, err
		}
		places = append(places, f)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	return drop(places, backQuoted, func(quoted string) error {
		_, err := admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoted)
		return err
	})
}
