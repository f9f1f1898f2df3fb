package sqlfunc

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/internal/pgsql"
)

// The state is one word: the tick above, the sequence below. It is the AUTO_INCREMENT counter of an InnoDB table, which
// a stored function can change outside of transactions: SETVAL of a SEQUENCE takes only a literal
// (https://mariadb.com/kb/en/setval/), and dynamic SQL is not allowed there
// (https://mariadb.com/kb/en/stored-function-limitations/).
//
// The counter only grows. A row without a number takes the next one, and no other session gets it. A row with a number
// above the counter moves the counter after it. ROLLBACK undoes neither, and the counter is written to the redo log
// with the row, so before the transaction that uses the ID commits
// (https://mariadb.com/kb/en/auto_increment-handling-in-innodb/). So an ID is a number of tick and sequence together
// that was issued once, and the clock only decides when the counter moves forward.
//
// Every user may set insert_id and auto_increment_increment, which change that number: insert_id would be the ID
// itself, of another row or so far ahead that no more IDs could be issued. So the statement overrides both; the session
// keeps them.
//
// The row is deleted at once by its whole key, with a multi-table DELETE because only that allows FORCE INDEX: through
// the other index it would lock the end of the index, where all sessions insert. A gap lock may still remain (the first
// row of a page is found through the page before, and a statement that fails leaves locks on the gap), so sessions use
// zones that are separated by a permanent row: no session inserts into a gap that a session of another zone has locked.
// Hence a session waits only for a transaction whose connection number is equal modulo 4096. The permanent row also
// prevents InnoDB's bulk insert into empty tables, which locks the whole table.
const (
	mariadbState = `CREATE TABLE IF NOT EXISTS {state} (
	zone SMALLINT UNSIGNED NOT NULL,
	word BIGINT NOT NULL AUTO_INCREMENT,
	connection BIGINT UNSIGNED NOT NULL,
	PRIMARY KEY (zone, word, connection),
	KEY (word)
) ENGINE=InnoDB COMMENT='state of {next}: do not truncate or alter'`

	mariadbZones = `BEGIN NOT ATOMIC
	IF (SELECT COUNT(*) FROM {state} WHERE word = 0) < 4096 THEN
		SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO' FOR
		INSERT IGNORE INTO {state} (zone, word, connection)
			WITH digit (d) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15))
			SELECT a.d * 256 + b.d * 16 + c.d, 0, 0 FROM digit AS a, digit AS b, digit AS c;
	END IF;
END`
)

// mariadbClock is the time in microseconds since 1970, from the 100 ns since 1582-10-15 in a UUID of version 1 (RFC
// 9562, section 5.1). It is the only clock of MariaDB that is UTC, advances within a statement and cannot be set by a
// user: NOW and UTC_TIMESTAMP stand still from the start of the statement, SET timestamp and --sysdate-is-now stop
// them, and SYSDATE is local time, which repeats an hour in autumn.
const mariadbClock = `CAST(CONV(CONCAT(SUBSTRING(stamp, 16, 3), SUBSTRING(stamp, 10, 4), SUBSTRING(stamp, 1, 8)), 16, 10)
		AS UNSIGNED) DIV 10 - 12219292800000000`

// The function declares READS SQL DATA because a server with a binary log otherwise rejects a function that is not
// deterministic without log_bin_trust_function_creators (error 1418). MariaDB does not use the declaration for anything
// else (https://mariadb.com/kb/en/create-function/#contains-sql--no-sql--reads-sql-data--modifies-sql-data). Error 1418
// is meant for replicas that run the statements again, which the function itself rejects.
const mariadbNext = mariadbMode + `CREATE OR REPLACE FUNCTION {next}() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER COMMENT {comment}
BEGIN
	DECLARE stamp CHAR(36) CHARACTER SET ascii DEFAULT UUID();
	DECLARE moment BIGINT DEFAULT {clock};
	DECLARE me BIGINT UNSIGNED DEFAULT CONNECTION_ID();
	DECLARE my SMALLINT UNSIGNED DEFAULT me & 4095;
	DECLARE tick, lowest, claimed, claimed_tick BIGINT;
	DECLARE problem TEXT;
	IF @@log_bin AND @@sql_log_bin AND @@binlog_format = 'STATEMENT' THEN
		SIGNAL SQLSTATE '45000' SET
			MESSAGE_TEXT = '{name}_next: replicas would have other IDs: binlog_format is STATEMENT, want MIXED';
	END IF;
	IF moment < {first} THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{name}_next: the clock is before the epoch, {epoch} UTC';
	END IF;
	SET tick = {ticks};
	IF tick > {time max} THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{name}_next: the time of the layout is exhausted, it ends at {end} UTC';
	END IF;
	SET lowest = tick << {sequence bits};
	SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
		auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
		INSERT INTO {state} (zone, word, connection) VALUES (my, NULL, me);
	SET claimed = LAST_INSERT_ID();
	DELETE own FROM {state} AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	IF claimed < lowest THEN
		INSERT INTO {state} (zone, word, connection) VALUES (my, lowest - 1, me);
		DELETE own FROM {state} AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = lowest - 1 AND own.connection = me;
		SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
			auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
			INSERT INTO {state} (zone, word, connection) VALUES (my, NULL, me);
		SET claimed = LAST_INSERT_ID();
		DELETE own FROM {state} AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	END IF;
	SET claimed_tick = claimed >> {sequence bits};
	IF claimed < lowest OR claimed_tick > {time max} THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{name}_next: the time of the layout is exhausted, it ends at {end} UTC';
	ELSEIF claimed_tick - tick - {lead} > {patience} THEN
		SET problem = CONCAT('{name}_next: the IDs are ', (claimed_tick - tick) * {tick seconds},
			' s ahead of the clock, {lead text} is the lead');
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	ELSEIF claimed_tick - tick > {lead} THEN
		DO SLEEP((claimed_tick - tick - {lead}) * {tick seconds});
	END IF;
	RETURN {id};
END`

func (f *Functions) mariadbNext() string {
	id := pgsql.Plain.Replace(f.time.put("claimed_tick")) + " | " +
		f.spread("(claimed & {sequence max})", "CRC32(claimed_tick)") + " << {sequence shift}"
	if f.fixed != 0 {
		id += fmt.Sprintf(" | %d", f.fixed)
	}
	return f.mariadbFill(strings.Replace(mariadbNext, "{id}", id, 1),
		"{clock}", cmp.Or(f.clock, mariadbClock),
		"{ticks}", f.mariadbTicks("moment"))
}

// MariaDBTrigger returns the statement that makes MariaDB fill a key with a trigger, since the DEFAULT of a column
// cannot call a stored function (https://mariadb.com/kb/en/create-table/#default-column-option). The table is in the
// connection's database. The statement may be run again.
//
// The column must be BIGINT NOT NULL DEFAULT 0 without AUTO_INCREMENT: without a DEFAULT, strict mode rejects
// statements that omit the column before the trigger runs. The trigger sets the key of rows that are inserted with 0,
// NULL or without a key, by INSERT, INSERT ... SELECT, REPLACE and LOAD DATA; other keys stay. LAST_INSERT_ID() does
// not return the key, INSERT ... RETURNING does (MariaDB 10.5). So Create of GORM would leave the field 0: let GORM's
// rows get their IDs in Go, and use the trigger for all others.
//
// The trigger has the rights of its creator, as snowflake_next does: callers need no right to the state. CREATE TRIGGER
// needs the right TRIGGER on the table, and with a binary log SUPER or log_bin_trust_function_creators, as CREATE
// FUNCTION does (https://mariadb.com/kb/en/binary-logging-of-stored-routines/). With binlog_format=STATEMENT no IDs are
// issued, since replicas would have others.
//
// DROP TABLE drops the trigger. [Functions.Drop] does not, and without the functions every insert into the table fails.
//
// It returns [ErrOption] without [WithWorker], and for an invalid table or column: a name has 1 to 64 characters and no
// NUL.
func (f *Functions) MariaDBTrigger(table, column string) (string, error) {
	if !f.next {
		return "", fmt.Errorf("%w: MariaDBTrigger without WithWorker", ErrOption)
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

// triggerName is readable if it fits. All triggers of a database share one name space.
func (f *Functions) triggerName(table, column string) string {
	name := f.called(table + "_" + column)
	if utf8.RuneCountInString(name) <= maxMariaDBName {
		return name
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(table + "\x00" + column)) // never fails
	return fmt.Sprintf("%s_%016x", f.called("key"), sum.Sum64())
}
