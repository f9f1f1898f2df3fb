package sqlfunc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

var (
	// ErrNoTime means that a row has no key, or no time that the database can read.
	ErrNoTime = errors.New("sqlfunc: row without a time")
	errOrder  = errors.New("sqlfunc: rows evaluated out of order") // by MariaDB
)

// BackfillRows are rows that are older than their keys. Names are quoted, so their case matters on PostgreSQL.
type BackfillRows struct {
	Table string // table or schema.table
	Key   string // a unique column, such as the old key; it orders rows of the same time
	Time  string // the column with the time of creation, see [Functions.Backfill]
	Where string // a condition on the rows as SQL, which is not checked; "" for all rows
}

// Backfill is the SQL that makes IDs for the rows of a table. It is immutable.
type Backfill struct {
	dialect sqldb.Dialect
	rows    BackfillRows
	layout  snowflake.Layout
	limit   int64  // the first tick without IDs
	scored  string // SELECT of the rows with the slot n and the problem, 0 if there is none
	id      string // the ID of n, or an error of the database
	refused string // whether there is a problem
}

// Backfill returns SQL that makes the IDs of [snowflake.Backfill] for all rows at once, in ascending order of time and
// key. The worker is that of [WithWorker]; it must be reserved as for snowflake.NewBackfill, whose limit applies: rows must
// be older than now minus MaxLead. It is for PostgreSQL 14, MySQL 8, MariaDB 10.6, SQLite 3.28, and later ones.
//
// The time is read to its last digit, whatever the time zone of the session: from timestamptz and TIMESTAMP; from timestamp,
// DATETIME and date, as UTC; and on SQLite from text such as "2026-01-02 03:04:05.123456789+01:00", as GORM and Go write
// it, in UTC if it names no zone. Rows with another type are rejected, by PostgreSQL as a whole. So are those of a temporary
// table of MySQL and MariaDB, where the type is not known; if it hides another table, the type is taken from that.
//
// It returns [ErrOption] without WithWorker, for a layout without a field for the worker or with an epoch more than 292
// years ago, and for an unknown dialect; and [snowflake.ErrBeforeEpoch] and [snowflake.ErrTimeExhausted] if the layout's
// time has not begun or has ended.
func (f *Functions) Backfill(dialect sqldb.Dialect, rows BackfillRows) (*Backfill, error) {
	at, epoch := time.Now().Add(-snowflake.MaxLead), f.layout.Epoch()
	last, err := f.layout.Compose(snowflake.Parts{Time: at})
	switch {
	case err != nil:
		return nil, err
	case !f.next || f.layout.WorkerField() == "":
		return nil, fmt.Errorf("%w: Backfill needs WithWorker and a layout with a worker, not %s", ErrOption, f.layout)
	case at.Sub(epoch) == math.MaxInt64:
		return nil, fmt.Errorf("%w: Backfill with the epoch %s, more than 292 years ago", ErrOption, epoch.Format(time.RFC3339))
	}
	b := &Backfill{dialect: dialect, rows: rows, layout: f.layout}
	b.limit, _ = f.layout.Field(last, snowflake.FieldTime) // every layout has it

	quote, template, operators, schema := pgsql.Name, backfillTemplate, pgsql.Plain, ""
	switch dialect {
	case sqldb.Postgres:
		operators, schema = pgsql.Qualified, "pg_catalog."
	case sqldb.MySQL:
		quote = backquoted
		template = strings.NewReplacer("AS BIGINT", "AS SIGNED", backfillAhead, mysqlAhead, "AS rows_numbered", mysqlStart).Replace(template)
	}
	table, from := quote(rows.Table), quote(rows.Table)
	if space, name, found := strings.Cut(rows.Table, "."); found {
		table, from = quote(name), quote(space)+"."+quote(name)
	}
	// Qualified, since SQLite takes an unknown "name" for a text. nanos are since 1970, NULL for no time.
	key, column, nanos, ticks := table+"."+quote(rows.Key), table+"."+quote(rows.Time), "", ""
	switch dialect {
	case sqldb.Postgres:
		nanos, ticks = strings.ReplaceAll(operators.Replace(postgresNanos), "{time}", column), f.ticksSQL("t", 0)
	case sqldb.MySQL:
		nanos, ticks = mysqlNanos(rows, column), f.mariadbTicks("(ns DIV 1000)")
	case sqldb.SQLite:
		nanos = strings.ReplaceAll(sqliteNanos, "{time}", column)
		ticks = fmt.Sprintf("(ns - (%d)) / %d", epoch.UnixNano(), f.layout.Tick())
	default:
		return nil, fmt.Errorf("%w: the dialect %q, want Postgres, MySQL or SQLite", ErrOption, dialect)
	}
	sequence := f.place(snowflake.FieldSequence)
	made := fmt.Sprintf("((%s) {|} ((n {&} %d) {<<} %d)) {|} %d", f.time.put(fmt.Sprintf("(n {>>} %d)", sequence.bits)),
		sequence.max(), sequence.shift, f.fixed)
	if dialect == sqldb.MySQL { // where this is unsigned, and a decimal beside signed numbers
		made = "CAST(" + made + " AS SIGNED)"
	}
	// The absolute value of the least number is out of range in every mode of MySQL, even with INSERT IGNORE.
	b.id = operators.Replace("CASE WHEN problem {=} 0 THEN " + made + " ELSE " + schema +
		"abs((-9223372036854775807 {-} 1) {-} (0 {*} problem)) END")
	b.refused = operators.Replace("problem {>} 0")
	b.scored = f.fill(operators.Replace(template), "{nanos}", nanos, "{ticks}", operators.Replace(ticks), "{key}", key,
		"{time}", column, "{pg}", schema,
		"{table}", from, "{where}", cmp.Or(rows.Where, "true"), "{sequences}", sequence.max()+1,
		"{epoch}", epoch.UnixNano(), "{end}", f.layout.Start(b.limit).UnixNano(), "{limit}", b.limit,
		"{delay}", int64(snowflake.MaxBackfillDelay/f.layout.Tick()))
	return b, nil
}

// backfillTemplate gives each row the slot that snowflake.Backfill gives it: the first one of its tick, or the one after
// the slot of the row before. Slot 0 stays free.
const backfillTemplate = `(
	SELECT k, t, ns, n, CASE WHEN k IS NULL OR ns IS NULL THEN 1 WHEN ns {<} {epoch} THEN 2
		WHEN tick IS NULL OR (n {>>} {sequence bits}) {>=} {limit} THEN 3
		WHEN (n {>>} {sequence bits}) {>} (tick {+} {delay}) THEN 4
		WHEN n {<>} CASE WHEN (tick {*} {sequences}) {>} before_n THEN tick {*} {sequences} ELSE before_n {+} 1 END
			THEN 5 ELSE 0 END AS problem
	FROM (SELECT k, t, ns, n, tick, COALESCE({pg}LAG(n) OVER (ORDER BY ns, k), 0) AS before_n FROM (
		SELECT k, t, ns, tick, rn {+} CASE WHEN ahead {>} 0 THEN ahead ELSE 0 END AS n FROM (
			SELECT k, t, ns, tick, rn, ` + backfillAhead + ` AS ahead FROM (
				SELECT k, t, ns, CASE WHEN ns {>=} {epoch} AND ns {<} {end} THEN {ticks} END AS tick,
					CAST({pg}ROW_NUMBER() OVER (ORDER BY ns, k) AS BIGINT) AS rn
				FROM (SELECT {key} AS k, {time} AS t, {nanos} AS ns FROM {table} WHERE {where}) AS rows_read
				ORDER BY ns, k LIMIT 9223372036854775807
			) AS rows_numbered LIMIT 9223372036854775807
		) AS rows_moved
	) AS rows_placed) AS rows_checked
) AS rows_scored`

// How far the slots are ahead of the row numbers. MariaDB takes quadratic time for this MAX. It reads a derived table with
// LIMIT in its order; if it ever does not, the slots are wrong, which is problem 5.
const (
	backfillAhead = `{pg}MAX((tick {*} {sequences}) {-} rn) OVER (ORDER BY ns, k ROWS UNBOUNDED PRECEDING)`
	mysqlAhead    = `/*!80000 ` + backfillAhead + ` */ /*M! @sqlflake_ahead :=
				GREATEST(IF(rn = 1, 0, CAST(@sqlflake_ahead AS SIGNED)), COALESCE(tick * {sequences} - rn, 0)) */`
	mysqlStart = `AS rows_numbered /*M! CROSS JOIN (SELECT @sqlflake_ahead := 0) AS rows_started */`
)

// postgresNanos compares the time, since interval and time have an epoch too, but can't be compared with a timestamptz.
const postgresNanos = `CASE WHEN {time} IS NOT NULL OR {time} {<} timestamp with time zone 'epoch'
	THEN extract(epoch FROM {time}) END {*} 1000000000`

// mysqlNanos reads a TIMESTAMP as it is stored, since everything else depends on the time zone of the session.
func mysqlNanos(rows BackfillRows, column string) string {
	text := func(s string) string { return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", s) } // in every sql_mode
	space, table, found := strings.Cut(rows.Table, ".")
	if space = text(space); !found {
		space, table = "DATABASE()", rows.Table
	}
	return fmt.Sprintf(`CAST(CASE (SELECT IF(data_type = 'date', 'datetime', data_type) FROM information_schema.columns
			WHERE table_schema = %s AND table_name = %s AND column_name = %s
				AND (@@lower_case_table_names > 0 OR CAST(table_name AS BINARY) = %[2]s AND CAST(table_schema AS BINARY) = %[1]s))
		WHEN 'timestamp' THEN NULLIF(UNIX_TIMESTAMP(%[4]s), 0) * 1000000
		WHEN 'datetime' THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %[4]s) END AS DECIMAL(30)) * 1000`,
		space, text(table), text(rows.Time), column)
}

// sqliteNanos reads the fraction of a second apart, since the functions of SQLite round it to milliseconds. They also take
// the 31st of February, 24:30 and what follows a NUL for times.
const sqliteNanos = `CASE WHEN typeof({time}) = 'text' AND strftime('%s', {time}) IS NOT NULL
		AND {time} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' AND date(substr({time}, 1, 10), '+0 days') = substr({time}, 1, 10)
		AND substr({time}, 12, 2) <> '24' AND instr({time}, '.') IN (0, 20) AND instr({time}, char(0)) = 0 AND length({time}) <> 11 THEN
	strftime('%s', substr({time}, 1, 19) || ltrim(substr({time}, 20), '.0123456789')) * 1000000000
	+ CASE WHEN substr({time}, 20, 1) <> '.' THEN 0 ELSE
		substr(substr({time}, 21, length({time}) - 20 - length(ltrim(substr({time}, 20), '.0123456789')))
			|| '000000000', 1, 9) + 0 END
END`

// Select returns the SELECT of the old keys and the IDs, in this order and in no order of rows, for INSERT ... SELECT or,
// but on MariaDB, a view. It fails with an integer out of range for a row that [Backfill.Check] rejects.
func (b *Backfill) Select() string { return "SELECT k AS old, " + b.id + " AS id FROM " + b.scored }

// Check returns an error for the first row that can't have an ID, which names the row and the limit: [ErrNoTime],
// [snowflake.ErrBeforeEpoch], [snowflake.ErrNotPast] or [snowflake.ErrCrowded], as snowflake.Backfill.Next. It reads all
// rows and changes nothing; run it before the INSERT, in the same transaction if rows may change.
func (b *Backfill) Check(ctx context.Context, db sqldb.DB) error {
	text := map[sqldb.Dialect]string{sqldb.Postgres: "pg_catalog.text", sqldb.MySQL: "CHAR", sqldb.SQLite: "TEXT"}[b.dialect]
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT problem, COALESCE(CAST(k AS %s), 'NULL'), COALESCE(CAST(t AS %[1]s), "+
		"'NULL') FROM %[2]s WHERE %[3]s ORDER BY ns, k LIMIT 1", text, b.scored, b.refused))
	if err != nil {
		return fmt.Errorf("sqlfunc: check %s and %s of the rows of %s: %w", b.rows.Key, b.rows.Time, b.rows.Table, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	var problem int
	var key, at string
	if err := rows.Scan(&problem, &key, &at); err != nil {
		return err
	}
	kind := [...]error{ErrNoTime, snowflake.ErrBeforeEpoch, snowflake.ErrNotPast, snowflake.ErrCrowded, errOrder}[problem-1]
	limit := [...]string{
		"want a key and a time",
		"the epoch is " + b.layout.Epoch().Format(time.RFC3339Nano),
		"the ID has to be from before " + b.layout.Start(b.limit).Format(time.RFC3339Nano),
		fmt.Sprintf("the ID would be more than %v later", snowflake.MaxBackfillDelay),
		"its ID does not follow from the row before",
	}[problem-1]
	return fmt.Errorf("%w: %s: the row with %s %s and %s %s: %s",
		kind, b.rows.Table, b.rows.Key, quoteShort(key), b.rows.Time, quoteShort(at), limit)
}
