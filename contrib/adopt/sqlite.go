package adopt

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// sqliteTable is a table to be rebuilt.
type sqliteTable struct {
	name        string // in the case of the file
	replacement string // of the copy, until it is renamed
	create      string // the statement that creates it, without AUTOINCREMENT; "" if nothing has to change
	columns     []string
	others      []string // statements that create the indexes and triggers
}

// dropOnSQLite copies the tables in one transaction.
func dropOnSQLite(db *gorm.DB, keys []countedKey) error {
	return withSession(db, func(s *session) error {
		// Outside of a transaction, so that a call with nothing to do waits for no lock.
		tables, err := read(s.DB, keys, countedKey.onSQLite)
		if err != nil || !slices.ContainsFunc(tables, func(t sqliteTable) bool { return t.create != "" }) {
			return err
		}

		if err := s.switchTo("PRAGMA foreign_keys", "PRAGMA foreign_keys", 0); err != nil {
			return err
		}
		if err := s.switchTo("PRAGMA legacy_alter_table", "PRAGMA legacy_alter_table", 1); err != nil {
			return err
		}

		// An INSERT that is interrupted ends the transaction, and the savepoint begins another one then.
		if err := s.set("BEGIN IMMEDIATE", "SAVEPOINT sqlflake_undo", "ROLLBACK"); err != nil {
			return err
		}

		if tables, err = read(s.DB, keys, countedKey.onSQLite); err != nil { // again, under the lock
			return err
		}

		const brokenReferences = "pragma_foreign_key_check"
		broken, err := count(s.DB, brokenReferences)
		if err != nil {
			return err
		}

		if err := each(keys, func(i int, k countedKey) error { return tables[i].rebuild(s.DB, k) }); err != nil {
			return err
		}

		after, err := count(s.DB, brokenReferences)
		if err != nil {
			return err
		}
		if after != broken {
			return fmt.Errorf("%d rows break a foreign key, %d before", after, broken)
		}

		return s.commit()
	})
}

// onSQLite reads the table, and rejects one that must not be changed.
func (k countedKey) onSQLite(db *gorm.DB) (t sqliteTable, err error) {
	if k.schema != "" && !strings.EqualFold(k.schema, "main") {
		return t, k.refused(ErrAutoIncrementKept, "the table is not in the main database")
	}

	var found struct{ Name, SQL string }
	const query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
	result := db.Raw(query, k.table).Scan(&found)
	switch {
	case result.Error != nil:
		return t, result.Error
	case result.RowsAffected == 0:
		return t, fmt.Errorf("%w: %s", ErrNoTable, k.name())
	}

	t.name = found.Name
	isPrimary, err := t.readColumns(db, k)
	if err != nil {
		return t, err
	}

	// Indexes of UNIQUE and PRIMARY KEY have no SQL.
	err = db.Raw(`SELECT sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND tbl_name = ? COLLATE NOCASE
		AND sql IS NOT NULL ORDER BY rowid`, t.name).Scan(&t.others).Error
	if err != nil {
		return t, err
	}

	statement, counts := withoutWord(found.SQL, "AUTOINCREMENT")
	if !counts || !isPrimary { // a counter of another column stays
		return t, nil
	}

	t.replacement = "sqlflake_new_" + t.name
	err = t.plan(db, k, statement)
	return t, err
}

// readColumns reads the columns, and reports whether the key is the primary key.
func (t *sqliteTable) readColumns(db *gorm.DB, k countedKey) (isPrimary bool, err error) {
	var columns []struct {
		Name, Type string
		PK, Hidden int
	}
	err = db.Raw("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", t.name).Scan(&columns).Error
	if err != nil {
		return false, err
	}

	at := -1
	for i, c := range columns {
		if strings.EqualFold(c.Name, k.column) {
			at = i
		}
		if c.Hidden == 0 { // not a generated column
			t.columns = append(t.columns, quoteName(c.Name))
		}
	}

	switch {
	case at < 0:
		return false, k.refused(ErrNoIntegerKey, "the table has no such column")
	// https://www.sqlite.org/datatype3.html#determination_of_column_affinity
	case !strings.Contains(strings.ToUpper(columns[at].Type), "INT"):
		return false, k.refused(ErrNoIntegerKey, "the column is of type %q", columns[at].Type)
	}

	return columns[at].PK == 1, nil
}

// plan makes the statement that creates the copy out of the table's statement without AUTOINCREMENT.
func (t *sqliteTable) plan(db *gorm.DB, k countedKey, statement string) error {
	taken, err := count(db, "sqlite_master WHERE name = ? COLLATE NOCASE", t.replacement)
	if err != nil {
		return err
	}

	words := tokens(statement)
	switch {
	case taken > 0:
		return k.refused(ErrAutoIncrementKept, "the name %s is needed and already used", t.replacement)
	case len(words) < 4, !strings.EqualFold(statement[words[1][0]:words[1][1]], "TABLE"):
		return k.refused(ErrAutoIncrementKept, "cannot parse the statement that created the table: %s", statement)
	}

	t.create = statement[:words[2][0]] + quoteName(t.replacement) + statement[words[2][1]:]
	return nil
}

// rebuild replaces the table by a copy if it has AUTOINCREMENT. Other tables, views and triggers refer to it by name,
// and legacy_alter_table keeps these references as they are.
func (t sqliteTable) rebuild(db *gorm.DB, k countedKey) error {
	if t.create == "" {
		return nil
	}

	name, replacement, columns := quoteName(t.name), quoteName(t.replacement), strings.Join(t.columns, ", ")

	before, err := count(db, name)
	if err != nil {
		return err
	}

	err = run(db, append([]string{
		t.create,
		"INSERT INTO " + replacement + " (" + columns + ") SELECT " + columns + " FROM " + name,
		"DROP TABLE " + name,
		"ALTER TABLE " + replacement + " RENAME TO " + name,
	}, t.others...)...)
	if err != nil {
		return err
	}

	after, err := count(db, name)
	if err != nil {
		return err
	}
	now, err := k.onSQLite(db)
	switch {
	case err != nil:
		return err
	case before != after:
		return fmt.Errorf("%d rows were copied, want %d", after, before)
	case !slices.Equal(now.others, t.others):
		return fmt.Errorf("the indexes and triggers are %q now, were %q", now.others, t.others)
	case now.create != "":
		return k.refused(ErrAutoIncrementKept, "AUTOINCREMENT is still there")
	}
	return nil
}
