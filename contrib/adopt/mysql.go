package adopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/connpool"
)

// mysqlKey is a key column as MySQL describes it, and its new definition.
type mysqlKey struct {
	KeySchema string // the database
	Name      string // in the case of the table
	Kind      string // data_type: bigint
	Counts    bool
	Narrow    bool // an integer of less than 64 bits
	Default   *string

	references []string // the foreign keys that refer to the column or contain it, with their rules
	definition string   // for MODIFY; "" if nothing has to change
}

// hasDefault reports whether the column has a default other than NULL.
func (key mysqlKey) hasDefault() bool { return key.Default != nil && *key.Default != "NULL" }

// dropOnMySQL also ends what the server still does after an interrupt.
func dropOnMySQL(db *gorm.DB, keys []countedKey) error {
	var lost int64 // the number of an unusable connection
	err := withSession(db, func(s *session) error {
		var connection int64
		if err := s.Raw("SELECT connection_id()").Row().Scan(&connection); err != nil {
			return err
		}

		err := modifyAll(s, keys)
		if err != nil && s.conn.PingContext(context.WithoutCancel(s.Statement.Context)) != nil {
			lost = connection
		}

		return err
	})

	if lost != 0 {
		err = errors.Join(err, kill(db, lost))
	}

	return err
}

// modifyAll changes the columns that have to change.
func modifyAll(s *session, keys []countedKey) error {
	found, err := read(s.DB, keys, countedKey.onMySQL)
	if err != nil {
		return err
	}

	changes, unchecked := false, false
	for _, key := range found {
		if key.definition != "" {
			changes = true
			unchecked = unchecked || len(key.references) > 0
		}
	}

	if !changes {
		return nil
	}

	if err := setForModify(s, unchecked); err != nil {
		return err
	}

	var done []string
	return each(keys, func(i int, k countedKey) error {
		if found[i].definition == "" {
			return nil
		}

		err := k.modify(s.DB, found[i])
		if err != nil && len(done) > 0 {
			err = fmt.Errorf("%w (done before: %s)", err, strings.Join(done, ", "))
		}
		done = append(done, k.String())
		return err
	})
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
	tables, err := count(db, "information_schema.tables"+here+
		" AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')", k.names())
	if err != nil {
		return key, err
	}

	result := db.Raw(`SELECT table_schema AS key_schema, column_name AS name, data_type AS kind,
			extra LIKE '%auto_increment%' AS counts,
			data_type IN ('tinyint', 'smallint', 'mediumint', 'int') AS narrow, column_default AS "default"
		FROM information_schema.columns`+here+" AND column_name = @column", k.names()).Scan(&key)
	if result.Error == nil {
		key.references, result.Error = k.foreignKeysOnMySQL(db, key.KeySchema)
	}

	switch {
	case result.Error != nil:
		return key, result.Error
	case tables == 0:
		return key, fmt.Errorf("%w: %s", ErrNoTable, k.name())
	case key.Name == "":
		return key, k.refused(ErrNoIntegerKey, "the table has no such column")
	case !key.Narrow && key.Kind != "bigint":
		return key, k.refused(ErrNoIntegerKey, "the column is of type %s", key.Kind)
	case !key.Counts && key.hasDefault():
		return key, k.refused(ErrAutoIncrementKept, "its default is %s", *key.Default)
	case key.Narrow && len(key.references) > 0:
		return key, k.refused(ErrAutoIncrementKept, "the column is %s, and these foreign keys prevent it from "+
			"becoming bigint: %s; drop them, call DropAutoIncrement, widen the columns that refer to it, "+
			"and let AutoMigrate create them again", key.Kind, strings.Join(key.references, ", "))
	case key.Counts || key.Narrow:
		key.definition, err = k.withoutCounter(db, key)
	}

	return key, err
}

// foreignKeysOnMySQL returns the foreign keys that the column takes part in.
func (k countedKey) foreignKeysOnMySQL(db *gorm.DB, schema string) (all []string, err error) {
	const query = `SELECT concat(u.table_name, '.', u.constraint_name, ' (', u.column_name,
			' to ', u.referenced_table_name, '.', u.referenced_column_name,
			' on update ', r.update_rule, ' on delete ', r.delete_rule, ')')
		FROM information_schema.key_column_usage u
		JOIN information_schema.referential_constraints r
			ON r.constraint_schema = u.constraint_schema AND r.table_name = u.table_name
				AND r.constraint_name = u.constraint_name
		WHERE u.referenced_table_schema = @schema AND u.referenced_table_name = @table
				AND u.referenced_column_name = @column
			OR u.table_schema = @schema AND u.table_name = @table AND u.column_name = @column
				AND u.referenced_table_name IS NOT NULL
		ORDER BY 1`

	names := []any{sql.Named("schema", schema), sql.Named("table", k.table), sql.Named("column", k.column)}
	err = db.Raw(query, names...).Scan(&all).Error
	return all, err
}

var narrowType = regexp.MustCompile(`^(tiny|small|medium)?int(\(\d+\))?`)

// withoutCounter returns the server's own definition of the column without AUTO_INCREMENT and with 64 bits.
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

	found := true
	if key.Counts {
		definition, found = withoutWord(definition, "AUTO_INCREMENT")
	}
	if key.Narrow {
		definition = narrowType.ReplaceAllString(definition, "bigint")
		found = found && strings.HasPrefix(definition, "bigint")
	}

	if !found || definition == "" {
		return "", k.refused(ErrAutoIncrementKept, "cannot parse the definition of the column: %q", definition)
	}

	return definition, nil
}

// modify changes the column and checks the result.
func (k countedKey) modify(db *gorm.DB, before mysqlKey) error {
	statement := "ALTER TABLE " + k.quoted(db) + " MODIFY COLUMN " + db.Statement.Quote(before.Name) + " "
	if err := run(db, statement+before.definition); err != nil {
		return err
	}

	after, err := k.onMySQL(db)
	switch {
	case err != nil:
		return err
	case after.definition != "":
		return k.refused(ErrAutoIncrementKept, "the column would still have to become %s", after.definition)
	case !slices.Equal(after.references, before.references):
		return fmt.Errorf("the foreign keys are %q now, were %q", after.references, before.references)
	}

	return nil
}

// setForModify prepares the session to accept the definitions of SHOW CREATE TABLE.
func setForModify(s *session, unchecked bool) error {
	var modes string
	if err := s.Raw("SELECT @@SESSION.sql_mode").Row().Scan(&modes); err != nil {
		return err
	}

	// The server doubles each backslash of a comment in every mode, and this mode would read two.
	if others := strings.ReplaceAll(modes, "NO_BACKSLASH_ESCAPES", ""); others != modes {
		if err := s.set("SET SESSION sql_mode = '"+others+"'", "SET SESSION sql_mode = '"+modes+"'"); err != nil {
			return err
		}
	}

	if !unchecked {
		return nil
	}

	// MySQL treats the loss of AUTO_INCREMENT as a change of type, which foreign keys forbid.
	return s.switchTo("SELECT @@SESSION.foreign_key_checks", "SET SESSION foreign_key_checks", 0)
}

// kill ends a connection that the driver has dropped and waits for its end. The driver only closes its socket: a
// statement that waits for a lock continues on the server for a while and could still change the table.
func kill(db *gorm.DB, connection int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(db.Statement.Context), 10*time.Second)
	defer cancel()

	pool := connpool.Unprepared(db.ConnPool)
	_, err := pool.ExecContext(ctx, fmt.Sprintf("KILL %d", connection)) // an error if the connection has already ended

	for {
		left := 0
		row := pool.QueryRowContext(ctx, "SELECT count(*) FROM information_schema.processlist WHERE id = ?", connection)
		failed := row.Scan(&left) // MySQL 9 can't show the list while a statement with binary data runs anywhere
		if failed == nil && left == 0 {
			return nil
		}

		if err != nil || ctx.Err() != nil {
			return fmt.Errorf("the interrupted change of a table may still happen: kill %d: %w",
				connection, errors.Join(err, failed))
		}

		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
