package adopt

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// sqliteTable is a table that is to be rebuilt.
type sqliteTable struct {
	key     countedKey
	name    string // as the file has it
	create  string // the statement without AUTOINCREMENT, for a table called replacement
	columns []string
	others  []string // statements of its indexes and triggers

	replacement string
}

func dropOnSQLite(db *gorm.DB, keys []countedKey) error {
	if inTransaction(db) { // PRAGMA foreign_keys does nothing there, and DROP TABLE would delete what refers to the rows
		return fmt.Errorf("%w: SQLite cannot rebuild a table in the handle's transaction; pass one without", ErrAutoIncrementKept)
	}
	fail := func(err error) error { return fmt.Errorf("adopt: drop auto-increment: %w", err) }
	return pinned(db, func(p *pin) error {
		// Not yet in a transaction: a second call must not wait for a lock.
		tables, err := tablesOnSQLite(p.DB, keys)
		if err != nil || len(tables) == 0 {
			return err
		}
		for _, pragma := range []string{"foreign_keys", "legacy_alter_table"} {
			var before int
			if err := p.Raw("PRAGMA " + pragma).Row().Scan(&before); err != nil {
				return fail(err)
			}
			now := map[string]int{"legacy_alter_table": 1}[pragma]
			if before == now {
				continue
			}
			if err := p.set(fmt.Sprintf("PRAGMA %s = %d", pragma, now), fmt.Sprintf("PRAGMA %s = %d", pragma, before)); err != nil {
				return fail(err)
			}
		}
		if err := p.set("BEGIN IMMEDIATE", "ROLLBACK"); err != nil {
			return fail(err)
		}
		if tables, err = tablesOnSQLite(p.DB, keys); err != nil { // again, now that nobody else changes them
			return err
		}
		broken, err := brokenReferences(p.DB)
		if err != nil {
			return fail(err)
		}
		for _, t := range tables {
			if err := t.rebuild(p.DB); err != nil {
				return err
			}
		}
		after, err := brokenReferences(p.DB)
		switch {
		case err != nil:
			return fail(err)
		case after != broken:
			return fail(fmt.Errorf("%d foreign keys without a row, %d before", after, broken))
		}
		if err := p.commit(); err != nil {
			return fail(err)
		}
		return nil
	})
}

// tablesOnSQLite returns those tables of the keys that have an AUTOINCREMENT.
func tablesOnSQLite(db *gorm.DB, keys []countedKey) ([]sqliteTable, error) {
	var tables []sqliteTable
	for _, k := range keys {
		t, counts, err := k.onSQLite(db)
		if err != nil {
			return nil, err
		}
		if counts {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// onSQLite looks at the table, and refuses what must not be changed.
func (k countedKey) onSQLite(db *gorm.DB) (t sqliteTable, counts bool, err error) {
	t.key = k
	if k.space != "" && !strings.EqualFold(k.space, "main") {
		return t, false, k.kept("the table is not in the main database")
	}
	var found []struct{ Name, SQL string }
	err = db.Raw("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE", k.table).
		Scan(&found).Error
	switch {
	case err != nil:
		return t, false, k.failed(err)
	case len(found) == 0:
		return t, false, k.noTable()
	}
	t.name = found[0].Name
	var columns []struct {
		Name, Type string
		PK, Hidden int
	}
	if err := db.Raw("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", t.name).Scan(&columns).Error; err != nil {
		return t, false, k.failed(err)
	}
	at := -1
	for i, c := range columns {
		if strings.EqualFold(c.Name, k.column) {
			at = i
		}
		if c.Hidden == 0 { // not a generated column
			t.columns = append(t.columns, quoteSQLite(c.Name))
		}
	}
	switch {
	case at < 0:
		return t, false, k.noInteger("the table has no such column")
	// https://www.sqlite.org/datatype3.html#determination_of_column_affinity
	case !strings.Contains(strings.ToUpper(columns[at].Type), "INT"):
		return t, false, k.noInteger("the column is of type %q", columns[at].Type)
	}
	statement, counts := withoutWord(found[0].SQL, "AUTOINCREMENT")
	if !counts || columns[at].PK != 1 { // the one of another column is no business of this key
		return t, false, nil
	}

	t.replacement = "sqlflake_new_" + t.name
	var taken int
	err = db.Raw("SELECT count(*) FROM sqlite_master WHERE name = ? COLLATE NOCASE", t.replacement).Row().Scan(&taken)
	if err != nil {
		return t, false, k.failed(err)
	}
	words := tokens(statement)
	switch {
	case taken > 0:
		return t, false, k.kept("there is a table %s, whose name is needed", t.replacement)
	case len(words) < 4 || !strings.EqualFold(statement[words[1].start:words[1].end], "TABLE"):
		return t, false, k.kept("the statement that made the table is not understood: %s", statement)
	}
	t.create = statement[:words[2].start] + quoteSQLite(t.replacement) + statement[words[2].end:]
	t.others, err = t.indexesAndTriggers(db)
	return t, true, k.failed(err)
}

func (t sqliteTable) indexesAndTriggers(db *gorm.DB) (statements []string, err error) {
	return statements, db.Raw(`SELECT sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND tbl_name = ? COLLATE NOCASE
		AND sql IS NOT NULL ORDER BY rowid`, t.name).Scan(&statements).Error // without SQL are those of UNIQUE and PRIMARY KEY
}

// rebuild copies the table into a new one and puts that in its place. References of other tables, of views and triggers
// are by name, and stay as they are while legacy_alter_table is on.
func (t sqliteTable) rebuild(db *gorm.DB) error {
	var before, after int64
	if err := db.Raw("SELECT count(*) FROM " + quoteSQLite(t.name)).Row().Scan(&before); err != nil {
		return t.key.failed(err)
	}
	columns := strings.Join(t.columns, ", ")
	statements := []string{
		t.create,
		"INSERT INTO " + quoteSQLite(t.replacement) + " (" + columns + ") SELECT " + columns + " FROM " + quoteSQLite(t.name),
		"DROP TABLE " + quoteSQLite(t.name),
		"ALTER TABLE " + quoteSQLite(t.replacement) + " RENAME TO " + quoteSQLite(t.name),
	}
	for _, statement := range append(statements, t.others...) {
		if err := run(db, statement); err != nil {
			return t.key.failed(err)
		}
	}

	if err := db.Raw("SELECT count(*) FROM " + quoteSQLite(t.name)).Row().Scan(&after); err != nil {
		return t.key.failed(err)
	}
	others, err := t.indexesAndTriggers(db)
	if err != nil {
		return t.key.failed(err)
	}
	_, counts, err := t.key.onSQLite(db)
	switch {
	case err != nil:
		return err
	case before != after:
		return t.key.failed(fmt.Errorf("%d rows were copied, %d were there", after, before))
	case !slices.Equal(others, t.others):
		return t.key.failed(fmt.Errorf("the indexes and triggers are %q now, were %q", others, t.others))
	case counts:
		return t.key.kept("AUTOINCREMENT is still there")
	}
	return nil
}

// brokenReferences counts the rows whose foreign key finds nothing.
func brokenReferences(db *gorm.DB) (n int64, err error) {
	return n, db.Raw("SELECT count(*) FROM pragma_foreign_key_check").Row().Scan(&n)
}

func quoteSQLite(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
