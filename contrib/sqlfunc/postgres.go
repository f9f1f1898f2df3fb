package sqlfunc

import (
	"cmp"
	_ "embed" // for the templates
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// postgres returns the statements for PostgreSQL in the order of their dependencies.
func (f *Functions) postgres() []string {
	statements := []string{
		f.postgresFill(postgresGuard),
		f.postgresFill(postgresLayout),
		f.postgresTime(),
		f.postgresParts(),
	}
	if f.ordered() {
		statements = append(statements, f.postgresMin())
	}

	if f.next {
		statements = append(statements, f.postgresFill(postgresState), f.postgresNext())
	}
	if f.leases.namespace != "" {
		statements = append(statements, f.postgresReserve()...)
	}

	return statements
}

// postgresDrop removes the functions in the opposite order.
func (f *Functions) postgresDrop() (statements []string) {
	for _, object := range []string{
		"FUNCTION IF EXISTS {next}()", "FUNCTION IF EXISTS {parts}(bigint)",
		"FUNCTION IF EXISTS {min}(timestamp with time zone)", "FUNCTION IF EXISTS {time}(bigint)",
		"FUNCTION IF EXISTS {layout}()", "SEQUENCE IF EXISTS {state}",
	} {
		statements = append(statements, f.postgresFill("DROP "+object))
	}
	return statements
}

// qualified returns the name of a function or of the state with its schema.
func (f *Functions) qualified(what string) string {
	return pgsql.Name(f.schema) + "." + f.called(what)
}

// dollarQuote returns a quote for the bodies of functions that occurs in no name within them
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
func (f *Functions) dollarQuote() string {
	tag := "sqlfunc"
	for strings.Contains(f.schema+f.leases.namespace, "$"+tag) {
		tag += "_"
	}
	return "$" + tag + "$"
}

// postgresFill is fill with the names for PostgreSQL. What runs with the search_path of the caller, where others may
// have functions, types and operators, has a schema for each; operators are in braces, see package pgsql. What sets the
// search_path has no need of that.
func (f *Functions) postgresFill(template string, pairs ...any) string {
	operators := pgsql.Qualified
	if strings.Contains(template, "pg_catalog, pg_temp") { // it sets the search_path
		operators = pgsql.Plain
	}

	for _, what := range []string{"layout", "time", "parts", "min", "next", "state"} {
		name := f.qualified(what)
		pairs = append(pairs, "{"+what+"}", name, "{"+what+" text}", pgsql.Literal(name))
	}

	return f.fill(operators.Replace(strings.TrimSpace(template)), append(pairs,
		"{quote}", f.dollarQuote(),
		"{epoch}", floorMicroseconds(f.layout.Epoch()).Format(timestampFormat),
	)...)
}

const timestampFormat = "2006-01-02 15:04:05.999999"

// postgresGuard rejects existing functions of the same names that mean something else: indexes and views may depend on
// them, and the state counts in the layout's ticks. The lock is for two concurrent migrations: CREATE OR
// REPLACE would fail in one of them.
//
// Where others may create objects in the schema, existing ones can be a trap. So the layout is read from the source of
// its function without calling it, and objects of others are not replaced: they would keep their owner, and a superuser
// would get no error. The search_path is set for the block, since a script may be a part of a transaction.
//
//go:embed postgres_guard.sql
var postgresGuard string

// postgresLayout sets the search_path instead of a schema for the type: former versions know the source in this form.
const postgresLayout = `CREATE OR REPLACE FUNCTION {layout}() RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
	SELECT {definition}::text
{quote}`

const postgresState = `CREATE SEQUENCE IF NOT EXISTS {state}`

// postgresTime adds to a timestamp without time zone: adding to one with a time zone is not immutable in PostgreSQL,
// since days may have 23 hours, and could neither be inlined nor be used in an index. Days are added separately because
// the product is computed with a double, which is exact to 2^53.
const postgresTime = `CREATE OR REPLACE FUNCTION {time}(id bigint) RETURNS timestamp with time zone
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS {quote}
	SELECT ((timestamp '{epoch}'
		{+} pg_catalog.make_interval(days => ({microseconds} {/} 86400000000)::int))
		{+} (interval '1 microsecond' {*} ({microseconds} {%} 86400000000))) AT TIME ZONE 'UTC'
{quote}`

// postgresTime fills in the microseconds from the epoch to the start of the tick of $1. The nanoseconds of a tick are
// added separately, a thousand ticks at a time, so that nothing overflows before the sum does.
func (f *Functions) postgresTime() string {
	ticks, tick := f.time.get(bitsSQL), f.layout.Tick()
	sum := fmt.Sprintf("%s {*} %d", ticks, tick/time.Microsecond)
	if rest := tick % time.Microsecond; rest != 0 {
		sum = fmt.Sprintf("((%s) {+} ((%[2]s {/} 1000) {*} %[3]d)) {+} "+
			"((((%[2]s {%%} 1000) {*} %[3]d) {+} %[4]d) {/} 1000)",
			sum, ticks, rest, f.layout.Epoch().Nanosecond()%1000)
	}
	return f.postgresFill(postgresTime, "{microseconds}", pgsql.Qualified.Replace("("+sum+")"))
}

// bitsSQL returns the value of a field of $1.
func bitsSQL(p place) string {
	return fmt.Sprintf("(($1 {>>} %d) {&} %d)", p.shift, p.max())
}

// postgresParts has a column for each field. No field can have the parameter's name.
func (f *Functions) postgresParts() string {
	var columns, values []string
	for _, p := range f.places {
		kind, value := "bigint", pgsql.Qualified.Replace(bitsSQL(p))
		if p.name == snowflake.FieldTime {
			kind, value = "timestamp with time zone", f.qualified("time")+"($1)"
		}
		columns, values = append(columns, "OUT "+pgsql.Name(p.name)+" "+kind), append(values, value)
	}

	return f.postgresFill(`CREATE OR REPLACE FUNCTION {parts}(_id bigint, {columns})
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS {quote}
	SELECT {values}
{quote}`, "{columns}", strings.Join(columns, ", "), "{values}", strings.Join(values, ", "))
}

// postgresMin is PL/pgSQL because of its errors. It is immutable, so the planner still runs it once for a constant and
// compares the index with a number.
const postgresMin = `CREATE OR REPLACE FUNCTION {min}(instant timestamp with time zone) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
BEGIN
	IF instant < timestamptz '{first}+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('{name}_min: %s is before the epoch, {first} UTC', instant AT TIME ZONE 'UTC');
	END IF;{end}
	RETURN {least};
END {quote}`

// postgresMinEnd is left out for layouts that end after the last complete year of PostgreSQL's timestamps.
const postgresMinEnd = `
	IF instant >= timestamptz '{last}+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('{name}_min: %s is not before the end, {last} UTC', instant AT TIME ZONE 'UTC');
	END IF;`

func (f *Functions) postgresMin() string {
	end := ""
	if f.layout.End().Year() < 294276 {
		end = postgresMinEnd
	}
	return f.postgresFill(strings.Replace(postgresMin, "{end}", end, 1),
		"{first}", ceilMicroseconds(f.layout.Epoch()).Format(timestampFormat),
		"{last}", ceilMicroseconds(f.layout.End()).Format(timestampFormat),
		"{least}", pgsql.Plain.Replace(f.time.putPeriod(f.ticksSQL("instant AT TIME ZONE 'UTC'", 0))))
}

// ticksSQL returns the whole ticks from the epoch to the time, a timestamp with or without time zone, plus a shift of
// 0 or 1: a time before the epoch is rounded up, to the epoch in its last tick. EXTRACT is exact since PostgreSQL 14,
// where it is numeric.
func (f *Functions) ticksSQL(at string, shift int64) string {
	form, tick, epoch := f.scaled( // the epoch is in parentheses, as "--" would begin a comment
		"(((extract(epoch FROM %s) * 1000000)::bigint - (%d) + %d) / %d)",
		"div((extract(epoch FROM %s) * 1000000000) - (%d) + %d, %d)::bigint")
	return fmt.Sprintf(form, at, epoch, shift*tick, tick)
}

// guardBits makes 1<<guardBits larger than the number of concurrent sessions of a PostgreSQL server: MAX_BACKENDS is
// 0x3FFFF in its source.
const guardBits = 18

// wordBits returns the number of bits of the word below its tick, and whether sessions may call nextval without the
// lock.
func (f *Functions) wordBits() (low int, draw bool) {
	sequence := f.place(snowflake.FieldSequence)
	if low = max(sequence.bits, guardBits) + 1; f.time.bits()+low <= 63 {
		return low, true
	}
	return sequence.bits, false
}

// The state is one word, the value of a sequence object: the tick above, and below it a count, in which the layout's
// sequence numbers come first and then the guard, numbers that no ID has. Sequences are not part of transactions in
// PostgreSQL: a value is visible to all sessions at once and stays when a transaction rolls back
// (https://www.postgresql.org/docs/current/functions-sequence.html).
//
// An ID is made from the value that one call of nextval or setval has stored, so tick and sequence are claimed
// together. No value occurs twice:
//
//   - nextval returns each value to one session.
//   - setval is called only under the lock, with the first value of a later tick than the word has at that moment.
//     After the word was read under the lock only nextval can have changed it, and nextval does not reach the next
//     tick: a session calls it only after it has seen the count below the last sequence number (once for each read
//     outside of the lock, or under it), so at most one call of each session comes after the count has reached that
//     number. The guard is longer than the number of sessions that a server can have.
//   - A value in the guard makes no ID. Its session takes the lock.
//
// This does not depend on the clock. The clock only decides when a later tick begins.
//
// The lock belongs to a transaction and is taken in a subtransaction that always ends with an error, ours (SF001) or
// another, so its end releases the lock in every case. A session lock would stay if a statement is cancelled between
// taking and releasing it, or in its handler. The holder of the lock waits for nothing else (it has already taken the
// sequence's own lock, which ALTER SEQUENCE competes for), so there is no deadlock. The high half of the key is the OID
// of pg_class, the low half the OID of the sequence: nothing else has a reason to use it.
//
// If the bits of the layout leave no room for the guard, each ID is claimed under the lock.
//
//go:embed postgres_next.sql
var postgresNext string

// postgresDraw is the fast path: more than one call per tick.
const postgresDraw = `		IF now_tick >= 0 AND (word >> {low}) BETWEEN now_tick AND now_tick + {lead}
			AND (word & {low max}) < {sequence max} THEN
			word := nextval({state text});
			IF (word & {low max}) <= {sequence max} THEN
				RETURN {id of word};
			END IF;
		END IF;
`

func (f *Functions) postgresNext() string {
	low, draw := f.wordBits()
	expand := strings.NewReplacer("{draw}", "", "{one more}", "setval({state text}, word + 1)")
	if draw {
		expand = strings.NewReplacer("{draw}", postgresDraw, "{one more}", "nextval({state text})")
	}

	return f.postgresFill(expand.Replace(postgresNext),
		"{low}", low,
		"{low max}", int64(1)<<low-1,
		// One tick more and one less, since the last tick before the epoch would be rounded up.
		"{now}", f.ticksSQL(cmp.Or(f.clock, "clock_timestamp()"), 1)+" - 1",
		"{id of word}", f.postgresID("word", low),
		"{id of claimed}", f.postgresID("claimed", low),
		"{end}", f.layout.End().Format(timestampFormat))
}

// postgresID returns the ID for a word. If the sequence is above the time, a hash of the tick begins the tick: with 0
// nearly all IDs of slow writers would be in the lowest range of keys.
func (f *Functions) postgresID(word string, low int) string {
	sequence := f.place(snowflake.FieldSequence)
	tick := fmt.Sprintf("(%s >> %d)", word, low)
	count := fmt.Sprintf("(%s & %d)", word, sequence.max())
	if sequence.shift > max(f.time.high.shift, f.time.low.shift) {
		count = fmt.Sprintf("((%s + hashint8%s) & %d)", count, tick, sequence.max())
	}
	if sequence.shift > 0 {
		count = fmt.Sprintf("(%s << %d)", count, sequence.shift)
	}
	worker := f.worker << f.place(f.layout.WorkerField()).shift
	return pgsql.Plain.Replace(fmt.Sprintf("(%s) | %s | %d", f.time.put(tick), count, worker))
}

// leaseTables is where the worker is reserved.
type leaseTables struct{ prefix, namespace string }

// WithLeaseTables reserves the worker in the lease tables: the statements add a row for it to the leases of the
// namespace, reserved for SQL functions, so no lease of the namespace gets it. prefix has the meaning that it has in
// [sqllease.WithTables], "" for its default; the tables are created if they do not exist. namespace is the name given
// to lease.WithNamespace.
//
// They must be the tables that the leases use. On PostgreSQL names without a schema depend on the search_path: the
// statements use the tables that are visible, whatever [WithSchema] says, and fail with 42P07 if there are none but
// another schema of the database has one. They fail with 42501 for a table of a stranger, see
// [sqllease.Store.Migrate], and with 55000 if one of the two is missing.
//
// The statements fail if a lease holds the worker, if the namespace has another layout or requires a later version of
// the lease protocol, if it has a share without the worker, and if the worker is reserved for functions of another
// schema, database or name. If it was held before, the first ID is larger than all that its last owner could have
// issued. That is not so shortly after a failover: see package sqllease. A namespace with a reserved worker can't move
// to another layout.
func WithLeaseTables(prefix, namespace string) Option {
	return func(f *Functions) error {
		request := leasestore.Request{
			Namespace: namespace, Layout: f.layout.String(), Token: strings.Repeat("0", 32),
			TTL: time.Second,
		}
		_, err := sqllease.Schema(sqldb.Postgres, prefix)
		if err = cmp.Or(err, request.Validate()); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}

		f.leases = leaseTables{prefix: prefix, namespace: namespace}
		return nil
	}
}

// postgresReserve fills the templates that create the tables and reserve the worker. The purpose is that for which
// sqllease.Store.Move refuses to move a namespace.
func (f *Functions) postgresReserve() (statements []string) {
	schema, _ := sqllease.Schema(sqldb.Postgres, f.leases.prefix)           // WithLeaseTables has checked the prefix
	name := func(create string) string { return strings.Fields(create)[5] } // CREATE TABLE IF NOT EXISTS name
	namespaces, leases := name(schema[0]), name(schema[1])
	low, _ := f.wordBits()

	for _, template := range []string{postgresLeases, postgresReserve} {
		statements = append(statements, f.postgresFill(template,
			"{create}", strings.Join(schema, ";\n"),
			"{leases}", leases,
			"{namespaces}", namespaces,
			"{leases text}", pgsql.Literal(leases),
			"{namespaces text}", pgsql.Literal(namespaces),
			"{namespace}", pgsql.Literal(f.leases.namespace),
			"{purpose}", "'"+sqllease.PurposeSQL+"'",
			"{host}", pgsql.Literal(f.qualified("next")),
			"{version}", "'sqlfunc'",
			"{low}", low))
	}

	return statements
}

// Two more lease tables would have the same workers as the first ones, so none are created where another schema has
// one. A trigger of a stranger would run with the rights of whoever installs. Package sqllease has the same rules, and
// takes the same lock before it creates them.
//
//go:embed postgres_leases.sql
var postgresLeases string

// It takes the lock of the function that issues IDs, which usually does not wait for it. The horizon is the
// first tick without an ID of the last owner. The word is set to the last sequence of the tick before, so that the next
// ID is of the horizon, and calls of nextval that come first end in the guard. The lock of the namespace's row keeps a
// share, a move and a later version waiting, so they find the row.
//
//go:embed postgres_reserve.sql
var postgresReserve string
