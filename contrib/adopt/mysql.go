package adopt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// mysqlKey is a key column as MySQL describes it.
type mysqlKey struct {
	Name       string  // in the case of the table
	Kind       string  // data_type: bigint
	Default    *string // may be the text NULL
	Counts     bool
	definition string // for MODIFY; "" if nothing has to change
}

// sessionConn is a connection that looks like a transaction. Plugins such as dbresolver leave transactions alone and
// replace the pool of other handles for each statement.
type sessionConn struct{ *sql.Conn }

func (sessionConn) Commit() error   { return sql.ErrTxDone }
func (sessionConn) Rollback() error { return sql.ErrTxDone }

// dropOnMySQL changes the tables on one connection, the one of the handle if it has only one.
func dropOnMySQL(db *gorm.DB, keys []countedKey) error {
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return fmt.Errorf("%w: the handle is in a transaction, which the server would commit; pass one outside of it",
			ErrAutoIncrementKept)
	}

	on := func(tx *gorm.DB) error {
		conn, ok := tx.Statement.ConnPool.(*sql.Conn)
		if !ok {
			return gorm.ErrInvalidDB
		}

		s := db.Session(&gorm.Session{NewDB: true, Context: db.Statement.Context})
		s.Statement.ConnPool = sessionConn{conn}
		return modifyAll(s, conn, keys)
	}

	if _, ok := db.Statement.ConnPool.(*sql.Conn); ok { // of db.Connection
		return on(db)
	}
	return db.Connection(on)
}

// modifyAll changes the columns that have to change.
func modifyAll(db *gorm.DB, conn *sql.Conn, keys []countedKey) error {
	found, err := readAll(db, keys, countedKey.onMySQL)
	if err != nil || !slices.ContainsFunc(found, func(key mysqlKey) bool { return key.definition != "" }) {
		return err
	}

	return withSettings(db, conn, func() error {
		return each(keys, func(i int, k countedKey) error {
			key := found[i]
			if key.definition == "" {
				return nil
			}
			return run(db, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN %s %s",
				k.quoted(db), db.Statement.Quote(key.Name), key.definition))
		})
	})
}

// withSettings calls f while the session accepts the definitions of SHOW CREATE TABLE. The server doubles each
// backslash of a comment in every mode, and the mode NO_BACKSLASH_ESCAPES would read two. MySQL treats the loss of
// AUTO_INCREMENT as a change of type, which foreign keys forbid.
func withSettings(db *gorm.DB, conn *sql.Conn, f func() error) (err error) {
	const change = "SET SESSION sql_mode = '%s', SESSION foreign_key_checks = %d"
	var modes string
	var checks int
	row := db.Raw("SELECT @@SESSION.sql_mode, @@SESSION.foreign_key_checks").Row()
	if err := row.Scan(&modes, &checks); err != nil {
		return err
	}

	defer func() {
		restore := run(db.WithContext(context.WithoutCancel(db.Statement.Context)), fmt.Sprintf(change, modes, checks))
		if restore != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // it leaves its pool
			err = errors.Join(err, restore)
		}
	}()

	if err := run(db, fmt.Sprintf(change, strings.ReplaceAll(modes, "NO_BACKSLASH_ESCAPES", ""), 0)); err != nil {
		return err
	}
	return f()
}

// here finds a table in the catalog, with the values of names. MariaDB compares the names there without regard to case,
// even where another table differs by nothing else.
const here = ` WHERE table_schema = coalesce(nullif(@schema, ''), database()) AND table_name = @table
	AND (@@lower_case_table_names > 0 OR CAST(table_name AS BINARY) = @table
		AND CAST(table_schema AS BINARY) = coalesce(nullif(@schema, ''), database()))`

// names returns the parameters of here, and the column.
func (k countedKey) names() map[string]any {
	return map[string]any{"schema": k.schema, "table": k.table, "column": k.column}
}

// onMySQL reads the column, and rejects one that must not be changed.
func (k countedKey) onMySQL(db *gorm.DB) (key mysqlKey, err error) {
	var tables int
	err = db.Raw("SELECT count(*) FROM information_schema.tables"+here+
		" AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')", k.names()).Row().Scan(&tables)
	if err != nil {
		return key, err
	}

	result := db.Raw(`SELECT column_name AS name, data_type AS kind, column_default AS "default",
			extra LIKE '%auto_increment%' AS counts
		FROM information_schema.columns`+here+" AND column_name = @column", k.names()).Scan(&key)
	hasDefault := key.Default != nil && *key.Default != "NULL"

	switch {
	case result.Error != nil:
		return key, result.Error
	case tables == 0:
		return key, fmt.Errorf("%w: %s", ErrNoTable, k.name())
	case key.Name == "":
		return key, k.refused(ErrNoIntegerKey, "the table has no such column")
	case key.Kind != "bigint":
		return key, k.refused(ErrNoIntegerKey, "the column is of type %s", key.Kind)
	case key.Counts:
		key.definition, err = k.withoutCounter(db, key)
	case hasDefault:
		err = k.refused(ErrAutoIncrementKept, "its default is %s", *key.Default)
	}

	return key, err
}

// withoutCounter returns the server's own definition of the column without AUTO_INCREMENT.
func (k countedKey) withoutCounter(db *gorm.DB, key mysqlKey) (string, error) {
	var table, statement string
	if err := db.Raw("SHOW CREATE TABLE "+k.quoted(db)).Row().Scan(&table, &statement); err != nil {
		return "", err
	}

	definition := ""
	for line := range strings.Lines(statement) {
		for _, quote := range []string{"`", `"`} { // the second under ANSI_QUOTES
			name := quote + strings.ReplaceAll(key.Name, quote, quote+quote) + quote + " "
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
				definition = strings.TrimSuffix(rest, ",")
			}
		}
	}

	// A definition has the word once outside of quotes, before the comment.
	changed := counter.ReplaceAllString(definition, "$1")
	if changed == definition {
		return "", k.refused(ErrAutoIncrementKept, "cannot parse the definition of the column: %q", definition)
	}
	return changed, nil
}

// counter matches a definition up to AUTO_INCREMENT. No text is quoted before it: a counter has no default, and the
// comment follows.
var counter = regexp.MustCompile(`^([^'"]*) AUTO_INCREMENT\b`)

// run executes a statement as it is written: GORM does not search an expression without values for parameters.
func run(db *gorm.DB, statement string) error { return db.Exec("?", gorm.Expr(statement)).Error }
