package sqlfunc

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// MariaDBTrigger returns the statement that has MariaDB fill a key: MariaDB takes
// no stored function as the DEFAULT of a column
// (https://mariadb.com/kb/en/create-table/#default-column-option), so a trigger
// stands in for it, on the table of the connection's database. It may be run again.
//
// The column is to be BIGINT NOT NULL DEFAULT 0, without AUTO_INCREMENT: without a
// DEFAULT, statements that leave the column out are refused in strict mode before the trigger could
// run. The trigger gives an ID to rows that are inserted with 0, NULL or without a
// key, by INSERT, INSERT ... SELECT, REPLACE and LOAD DATA; keys that are
// given stay. LAST_INSERT_ID() does not tell the key, INSERT ... RETURNING does
// (MariaDB 10.5). So Create of GORM leaves the field at 0: rows that GORM inserts are to get their IDs in Go, the
// trigger is for all others.
//
// It runs with the rights of whoever made it, as snowflake_next does: others need no right
// to the state. CREATE TRIGGER needs the right TRIGGER on the table.
//
// On a server with a binary log, CREATE TRIGGER and CREATE FUNCTION need SUPER as well, or log_bin_trust_function_creators
// (https://mariadb.com/kb/en/binary-logging-of-stored-routines/). With binlog_format=STATEMENT no IDs are issued, as
// the replicas would have others.
//
// DROP TABLE drops the trigger as well. Drop does not; without the functions every
// insert into the table fails.
//
// It returns [ErrOption] without [WithWorker], and for a table or column that is no
// name: 1 to 64 characters, no NUL.
func (f *Functions) MariaDBTrigger(table, column string) (string, error) {
	if !f.next {
		return "", fmt.Errorf("%w: a trigger without WithWorker", ErrOption)
	}
	for _, name := range []struct{ what, text string }{{"table", table}, {"column", column}} {
		n := utf8.RuneCountInString(name.text)
		if n == 0 || n > maxMariaDBName || !utf8.ValidString(name.text) || strings.ContainsRune(name.text, 0) {
			return "", fmt.Errorf("%w: the %s %s, want 1 to %d characters without NUL", ErrOption,
				name.what, quoteShort(name.text), maxMariaDBName)
		}
	}
	return f.mariadbFill(mariadbTrigger,
		"{trigger}", backquoted(f.triggerName(table, column)),
		"{table}", backquoted(table),
		"{column}", backquoted(column)), nil
}

const maxMariaDBName = 64 // characters

const mariadbTrigger = mariadbMode + `CREATE OR REPLACE TRIGGER {trigger} BEFORE INSERT ON {table} FOR EACH ROW
IF NEW.{column} IS NULL OR NEW.{column} = 0 THEN
	SET NEW.{column} = {next}();
END IF`

// triggerName is readable if it fits. Triggers share one space of names in a database.
func (f *Functions) triggerName(table, column string) string {
	name := f.called(table + "_" + column)
	if utf8.RuneCountInString(name) <= maxMariaDBName {
		return name
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(table + "\x00" + column)) // never fails
	return fmt.Sprintf("%s_%016x", f.called("key"), sum.Sum64())
}
