package adopt

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// sqliteTable is a table to be rebuilt.
type sqliteTable struct {
	key     countedKey
	name    string // in the case of the file
	create  string // the statement that creates replacement, without AUTOINCREMENT
	columns []string
	others  []string // statements that create its indexes and triggers

	replacement string
}

func dropOnSQLite(db *gorm.DB, keys []countedKey) error {
	if inTransaction(db) { // PRAGMA foreign_keys has no effect there, so DROP TABLE would delete rows that refer to it
		return fmt.Errorf("%w: the handle is in a transaction, in which SQLite cannot rebuild a table; pass a handle outside of one", ErrAutoIncrementKept)
	}
	fail := func(err error) error { return fmt.Errorf("adopt: drop auto-increment: %w", err) }
	return pinned(db, func(p *pin) error {
		// Outside of a transaction, so that a call with nothing to do waits for no lock.
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
		if tables, err = tablesOnSQLite(p.DB, keys); err != nil { // again, under the lock
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
			return fail(fmt.Errorf("%d rows break a foreign key, %d before", after, broken))
		}
		if err := p.commit(); err != nil {
			return fail(err)
		}
		return nil
	})
}

// tablesOnSQLite returns the tables of the keys that have an AUTOINCREMENT.
func tablesOnSQLite(db *gorm.DB, keys []countedKey) ([]sqliteTable, error) {
	var tables []sqliteTable
	for _, k := range keys {
		t, counts, err := k.onSQLite(db)
		if err == nil {
			err = k.checkMinID(db)
		}
		if err != nil {
			return nil, err
		}
		if counts {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// onSQLite reads the table and rejects what must not be changed.
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
	if !counts || columns[at].PK != 1 { // a counter of another column stays
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
		return t, false, k.kept("the name %s is needed and already used", t.replacement)
	case len(words) < 4 || !strings.EqualFold(statement[words[1].start:words[1].end], "TABLE"):
		return t, false, k.kept("cannot parse the statement that created the table: %s", statement)
	}
	t.create = statement[:words[2].start] + quoteSQLite(t.replacement) + statement[words[2].end:]
	t.others, err = t.indexesAndTriggers(db)
	return t, true, k.failed(err)
}

func (t sqliteTable) indexesAndTriggers(db *gorm.DB) (statements []string, err error) {
	return statements, db.Raw(`SELECT sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND tbl_name = ? COLLATE NOCASE
		AND sql IS NOT NULL ORDER BY rowid`, t.name).Scan(&statements).Error // indexes of UNIQUE and PRIMARY KEY have no SQL
}

// rebuild replaces the table by a copy. Other tables, views and triggers refer to it by name, and legacy_alter_table
// keeps these references as they are.
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
		return t.key.failed(fmt.Errorf("%d rows were copied, want %d", after, before))
	case !slices.Equal(others, t.others):
		return t.key.failed(fmt.Errorf("the indexes and triggers are %q now, were %q", others, t.others))
	case counts:
		return t.key.kept("AUTOINCREMENT is still there")
	}
	return nil
}

// brokenReferences counts the rows that break a foreign key.
func brokenReferences(db *gorm.DB) (n int64, err error) {
	return n, db.Raw("SELECT count(*) FROM pragma_foreign_key_check").Row().Scan(&n)
}

func quoteSQLite(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
