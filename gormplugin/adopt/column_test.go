package adopt_test

import (
	"strings"
	"testing"
)

// column is what a database says of a column.
type column struct {
	Type  string // in lower case, without a width
	Made  bool   // by a sequence, AUTO_INCREMENT or a default
	InKey bool   // part of the primary key
}

// column asks the database itself, not GORM's migrator.
func (e *env) column(t *testing.T, table, name string) column {
	t.Helper()
	var c column
	var query string
	args := []any{table, name}
	switch e.target.Name {
	case "sqlite":
		query = `SELECT type, dflt_value IS NOT NULL OR
			(SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = ?), pk > 0
			FROM pragma_table_info(?) WHERE name = ?`
		args = []any{table, table, name}
	case "postgres":
		query = `SELECT c.data_type, c.column_default IS NOT NULL OR c.is_identity = 'YES', EXISTS (
			SELECT FROM information_schema.key_column_usage k
			JOIN information_schema.table_constraints p USING (constraint_schema, constraint_name)
			WHERE p.constraint_type = 'PRIMARY KEY' AND k.table_schema = c.table_schema
			AND k.table_name = c.table_name AND k.column_name = c.column_name)
			FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name = ? AND c.column_name = ?`
	case "mariadb":
		query = `SELECT data_type, extra <> '' OR column_default IS NOT NULL AND column_default <> 'NULL', column_key = 'PRI'
			FROM information_schema.columns WHERE table_schema = database() AND table_name = ? AND column_name = ?`
	}
	row := e.Raw(query, args...).Row()
	if err := row.Scan(&c.Type, &c.Made, &c.InKey); err != nil {
		t.Fatalf("column %s of %s: %v", name, table, err)
	}
	c.Type = strings.ToLower(c.Type)
	return c
}
