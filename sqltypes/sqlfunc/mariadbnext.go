package sqlfunc

import (
	"strconv"
	"strings"
)

// The state is one word: the tick above, the sequence below. It is the
// AUTO_INCREMENT counter of a table of InnoDB, which is what a stored function can
// reach outside of transactions: SETVAL of a SEQUENCE takes a literal only
// (https://mariadb.com/kb/en/setval/), and dynamic SQL is not allowed there
// (https://mariadb.com/kb/en/stored-function-limitations/).
//
// The counter only grows. A row without a number takes the next one and no other
// session gets it; a row with a number above the counter puts the counter after
// it; neither is undone by ROLLBACK, and the counter is written to the redo log with the
// row, so before the transaction that uses the ID commits
// (https://mariadb.com/kb/en/auto_increment-handling-in-innodb/). So an ID is a number
// that was given once, of tick and sequence together, and the clock says only when the
// counter has to be put forward.
//
// A session has a say in that number (insert_id, auto_increment_increment), and every user may set it: insert_id
// would be the ID, of somebody else or so far ahead that nothing could be issued any more. So both are put aside for
// the statement; the caller finds them as they were.
//
// The row is removed at once by its whole key, in a DELETE of several tables for the
// sake of FORCE INDEX: by way of the other index it would lock the end of that, where
// all sessions insert. That may still leave a gap lock (the first
// row of a page is found by way of the page before; a statement that fails leaves the
// locks of its rows on the gap), so the sessions are in zones, which are apart by a row that
// is always there: no session inserts into a gap that a session of another zone has
// locked. Hence nobody waits here for a transaction, but for one of a
// connection whose number is the same modulo 4096. The row that is always there also keeps
// InnoDB from its bulk insert into empty tables, which locks the whole table.
const (
	mariadbZoneBits = 12

	mariadbState = `CREATE TABLE IF NOT EXISTS {state} (
	zone SMALLINT UNSIGNED NOT NULL,
	word BIGINT NOT NULL AUTO_INCREMENT,
	connection BIGINT UNSIGNED NOT NULL,
	PRIMARY KEY (zone, word, connection),
	KEY (word)
) ENGINE=InnoDB COMMENT='state of {next}: never empty, never change'`

	mariadbZones = `BEGIN NOT ATOMIC
	IF (SELECT COUNT(*) FROM {state} WHERE word = 0) < 4096 THEN
		SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO' FOR
		INSERT IGNORE INTO {state} (zone, word, connection)
			WITH digit (d) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15))
			SELECT a.d * 256 + b.d * 16 + c.d, 0, 0 FROM digit AS a, digit AS b, digit AS c;
	END IF;
END`
)

// mariadbClock is the time in microseconds since 1970, from the 100 ns since
// 1582-10-15 in a UUID of version 1 (RFC 9562, section 5.1). Of all clocks in
// MariaDB it alone is UTC, moves within a statement, and is moved by nobody: NOW and
// UTC_TIMESTAMP stand still from the start of the statement, SET timestamp and
// --sysdate-is-now stop them for good, and SYSDATE is local time, of which an
// hour comes twice in autumn.
const mariadbClock = `CAST(CONV(CONCAT(SUBSTRING(stamp, 16, 3), SUBSTRING(stamp, 10, 4), SUBSTRING(stamp, 1, 8)), 16, 10)
		AS UNSIGNED) DIV 10 - 12219292800000000`

// The function says that it reads only, as a server with a binary log takes no other that is not deterministic without
// log_bin_trust_function_creators (error 1418). MariaDB makes no other use of that
// (https://mariadb.com/kb/en/create-function/#contains-sql--no-sql--reads-sql-data--modifies-sql-data). The error is
// there for replicas that run the statements again, which the function refuses itself.
const mariadbNext = mariadbMode + `CREATE OR REPLACE FUNCTION {next}() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER COMMENT {comment}
BEGIN
	DECLARE stamp CHAR(36) CHARACTER SET ascii DEFAULT UUID();
	DECLARE moment BIGINT DEFAULT {clock};
	DECLARE me BIGINT UNSIGNED DEFAULT CONNECTION_ID();
	DECLARE my SMALLINT UNSIGNED DEFAULT me & {zone max};
	DECLARE tick, lowest, claimed, claimed_tick BIGINT;
	DECLARE problem TEXT;
	IF @@log_bin AND @@sql_log_bin AND @@binlog_format = 'STATEMENT' THEN
		SIGNAL SQLSTATE '45000' SET
			MESSAGE_TEXT = '{next name}: replicas would have other IDs: binlog_format is STATEMENT, want MIXED';
	END IF;
	IF moment < {first} THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{next name}: the clock is before the epoch, {epoch} UTC';
	END IF;
	SET tick = {ticks};
	IF tick > {time max} THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{next name}: the time of the layout is exhausted, it ends at {end} UTC';
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
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{next name}: the time of the layout is exhausted, it ends at {end} UTC';
	ELSEIF claimed_tick - tick - {lead} > {patience} THEN
		SET problem = CONCAT('{next name}: the IDs are ', (claimed_tick - tick) * {tick seconds},
			' s ahead of the clock, {lead text} is the lead');
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	ELSEIF claimed_tick - tick > {lead} THEN
		DO SLEEP((claimed_tick - tick - {lead}) * {tick seconds});
	END IF;
	RETURN {id};
END`

func (f *Functions) mariadbNext() string {
	clock := f.clock
	if clock == "" {
		clock = mariadbClock
	}
	tick := f.layout.Tick()
	text := strings.NewReplacer("{clock}", clock, "{ticks}", f.mariadbTicks("moment"), "{id}", f.mariadbCompose()).
		Replace(mariadbNext)
	return f.mariadbFill(text,
		"{zone max}", strconv.Itoa(1<<mariadbZoneBits-1),
		"{first}", strconv.FormatInt(ceilMicroseconds(f.layout.Epoch()).UnixMicro(), 10),
		"{lead}", strconv.FormatInt(f.leadTicks(), 10),
		"{lead text}", f.lead.String(),
		"{patience}", strconv.FormatInt(max(1, int64(patience/tick)), 10),
		"{tick seconds}", secondsSQL(tick),
		"{next name}", f.called("next"),
		"{epoch}", f.layout.Epoch().Format(mariadbFormat),
		"{end}", f.layout.End().Format(mariadbFormat))
}

// mariadbCompose returns the ID for a word.
func (f *Functions) mariadbCompose() string {
	id := "claimed_tick << {time shift} | (claimed & {sequence max}) << {sequence shift}"
	if f.fixed != 0 {
		id += " | " + strconv.FormatInt(f.fixed, 10)
	}
	return id
}
