package sqlfunc

import (
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// postgres returns the statements for PostgreSQL in the order of their dependencies.
func (f *Functions) postgres() []string {
	statements := []string{
		f.fill(postgresGuard),
		f.fill(postgresLayout),
		f.fill(postgresTime),
		f.postgresParts(),
	}
	if f.ordered() {
		statements = append(append(statements, f.postgresMin()), f.postgresKeys()...)
	}
	if f.next {
		statements = append(statements, f.fill(postgresState), f.postgresNext())
	}
	if f.leases != nil {
		statements = append(statements, f.postgresReserve()...)
	}
	return statements
}

// postgresFunctions are the functions, the one of the layout last.
var postgresFunctions = [...]string{
	"next()", "parts(bigint)", "text_time(text)", "text_min(timestamptz)", "uuid_time(text)", "uuid_min(timestamptz)",
	"min(timestamptz)", "time(bigint)", "layout()",
}

func (f *Functions) postgresDrop() []string {
	var statements []string
	for _, signature := range postgresFunctions {
		statements = append(statements, "DROP FUNCTION IF EXISTS "+f.qualified(signature))
	}
	return append(statements, f.fill("DROP SEQUENCE IF EXISTS {state}"))
}

// postgresRegistered returns a list for SQL: for each function its regprocedure, or NULL if there is none.
func (f *Functions) postgresRegistered() string {
	var list []string
	for _, signature := range postgresFunctions {
		list = append(list, "pg_catalog.to_regprocedure("+literalSQL(f.qualified(signature))+")")
	}
	return strings.Join(list, ",\n\t\t")
}

// postgresGuard rejects existing functions of the same names that mean something else: indexes and views may depend on
// them, and the state counts in the layout's ticks. The lock is for two concurrent migrations, of which CREATE OR
// REPLACE would fail one.
//
// Where others may create objects in the schema, existing ones can be a trap. So the layout is read from the source of
// its function without calling it, and objects of others are not replaced: they would keep their owner, and a superuser
// would get no error.
const postgresGuard = `DO {quote}
DECLARE
	registered oid[];
	layout_found text;
	other name;
BEGIN
	IF pg_catalog.current_setting('server_version_num')::int < 140000 THEN
		RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
			MESSAGE = '{name}: the functions need PostgreSQL 14, whose EXTRACT is exact';
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended({layout text}, 0));
	registered := pg_catalog.array_remove(ARRAY[
		{functions}
	]::oid[], NULL);
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'unknown') INTO layout_found
		FROM pg_catalog.pg_proc WHERE oid = pg_catalog.to_regprocedure({layout text});
	IF layout_found IS NULL AND registered <> '{}' THEN
		layout_found := 'unknown';
	END IF;
	IF layout_found <> {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = '{name} functions of another layout are installed: ' || layout_found,
			HINT = 'Drop them first if no ID was made with them, or choose another name or schema.';
	END IF;
	SELECT rolname INTO other FROM (
			SELECT proowner, pronamespace FROM pg_catalog.pg_proc WHERE oid = ANY (registered)
			UNION SELECT relowner, relnamespace FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass({state text})
		) AS there (owner, namespace)
		JOIN pg_catalog.pg_roles ON pg_roles.oid = owner JOIN pg_catalog.pg_namespace ON pg_namespace.oid = namespace
		WHERE rolname <> current_user AND NOT rolsuper AND owner <> nspowner
			AND (pg_catalog.current_setting('is_superuser') = 'on' OR NOT pg_catalog.pg_has_role(owner, 'USAGE'));
	IF other IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = '{name}: functions or the state belong to the role ' || other,
			HINT = 'Install as that role, or drop them first if you do not trust them.';
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_class LEFT JOIN pg_catalog.pg_sequence ON seqrelid = oid
		WHERE oid = pg_catalog.to_regclass({state text}) AND (relpersistence <> 'p' OR seqrelid IS NULL
			OR seqincrement <> 1 OR seqcache <> 1 OR seqcycle OR seqmin > 1 OR seqmax < 9223372036854775807)) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
			MESSAGE = '{name}_state exists and is not the sequence that the functions use';
	END IF;
END {quote}`

const postgresLayout = `CREATE OR REPLACE FUNCTION {layout}() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS {quote}
	SELECT {definition}::text
{quote}`

const postgresState = `CREATE SEQUENCE IF NOT EXISTS {state}`

// fill inserts names and numbers into a template for PostgreSQL.
func (f *Functions) fill(template string, more ...string) string {
	at, sequence := f.place(snowflake.FieldTime), f.place(snowflake.FieldSequence)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	pairs := append([]string{
		"{quote}", f.dollarQuote(),
		"{name}", f.name,
		"{definition}", literalSQL(f.layout.String()),
		"{functions}", f.postgresRegistered(),
		"{layout text}", literalSQL(f.qualified("layout") + "()"),
		"{state text}", literalSQL(f.qualified("state")),
		"{layout}", f.qualified("layout"),
		"{time}", f.qualified("time"),
		"{parts}", f.qualified("parts"),
		"{min}", f.qualified("min"),
		"{uuid_min}", f.qualified("uuid_min"),
		"{uuid_time}", f.qualified("uuid_time"),
		"{text_min}", f.qualified("text_min"),
		"{text_time}", f.qualified("text_time"),
		"{next}", f.qualified("next"),
		"{state}", f.qualified("state"),

		"{time shift}", strconv.Itoa(at.shift),
		"{time max}", number(at.max()),
		"{sequence shift}", strconv.Itoa(sequence.shift),
		"{sequence max}", number(sequence.max()),
		"{epoch}", f.epochMicroseconds().Format(timestampFormat),
		"{microseconds}", f.microsecondsSQL(),
		"{crockford}", crockford,
	}, more...)
	return strings.NewReplacer(pairs...).Replace(template)
}

// qualified returns the name of a function or of the state with its schema.
func (f *Functions) qualified(what string) string {
	return identifierSQL(f.schema) + "." + f.called(what)
}

const timestampFormat = "2006-01-02 15:04:05.999999"

// epochMicroseconds returns the epoch truncated to microseconds.
func (f *Functions) epochMicroseconds() time.Time {
	return floorMicroseconds(f.layout.Epoch())
}

// floorMicroseconds is Truncate that also works before the year 1.
func floorMicroseconds(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Nanosecond() % 1000))
}

// postgresTime adds to a timestamp without time zone: adding to one with a time zone is not immutable in PostgreSQL,
// since days may have 23 hours, and could neither be inlined nor be used in an index. Days are added separately because
// the product is computed with a double, which is exact to 2^53.
const postgresTime = `CREATE OR REPLACE FUNCTION {time}(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS {quote}
	SELECT (timestamp '{epoch}'
		+ make_interval(days => ({microseconds} / 86400000000)::int)
		+ interval '1 microsecond' * ({microseconds} % 86400000000)) AT TIME ZONE 'UTC'
{quote}`

// microsecondsSQL returns the microseconds from the epoch to the start of the tick of $1. The nanoseconds of a tick are
// added separately, a thousand ticks at a time, so that nothing overflows before the sum does.
func (f *Functions) microsecondsSQL() string {
	at := f.place(snowflake.FieldTime)
	ticks := bitsSQL(at)
	whole, rest := int64(f.layout.Tick()/time.Microsecond), int64(f.layout.Tick()%time.Microsecond)
	sum := ticks + " * " + strconv.FormatInt(whole, 10)
	if rest != 0 {
		nanoseconds := int64(f.layout.Epoch().Nanosecond() % 1000)
		sum += " + " + ticks + " / 1000 * " + strconv.FormatInt(rest, 10) +
			" + (" + ticks + " % 1000 * " + strconv.FormatInt(rest, 10) + " + " + strconv.FormatInt(nanoseconds, 10) + ") / 1000"
	}
	return "(" + sum + ")"
}

// bitsSQL returns the value of a field of $1.
func bitsSQL(p place) string {
	id := "$1"
	if p.shift > 0 {
		id = "($1 >> " + strconv.Itoa(p.shift) + ")"
	}
	return "(" + id + " & " + strconv.FormatInt(p.max(), 10) + ")"
}

// postgresParts has a column for each field. No field can have the parameter's name.
func (f *Functions) postgresParts() string {
	var columns, values []string
	for _, p := range f.places {
		name := identifierSQL(p.name)
		if p.name == snowflake.FieldTime {
			columns = append(columns, "OUT "+name+" timestamptz")
			values = append(values, f.qualified("time")+"($1)")
			continue
		}
		columns = append(columns, "OUT "+name+" bigint")
		values = append(values, bitsSQL(p))
	}
	return f.fill(`CREATE OR REPLACE FUNCTION {parts}(_id bigint, `+strings.Join(columns, ", ")+`)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS {quote}
	SELECT {values}
{quote}`, "{values}", strings.Join(values, ", "))
}

// postgresMin is PL/pgSQL because of its errors. It is immutable, so the planner still runs it once for a constant and
// compares the index with a number.
func (f *Functions) postgresMin() string {
	const plain = `CREATE OR REPLACE FUNCTION {min}(instant timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
BEGIN
	IF instant < timestamptz '{first}+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('{min name}: %s is before the epoch, {first} UTC', instant AT TIME ZONE 'UTC');
	END IF;{end}
	RETURN {ticks} << {time shift};
END {quote}`
	const end = `
	IF instant >= timestamptz '{last}+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('{min name}: %s is not before the end, {last} UTC', instant AT TIME ZONE 'UTC');
	END IF;`
	text := strings.Replace(plain, "{end}", "", 1)
	if f.layout.End().Year() < maxPostgresYear {
		text = strings.Replace(plain, "{end}", end, 1)
	}
	return f.fill(text,
		"{min name}", f.called("min"),
		"{first}", ceilMicroseconds(f.layout.Epoch()).Format(timestampFormat),
		"{last}", ceilMicroseconds(f.layout.End()).Format(timestampFormat),
		"{ticks}", f.ticksSQL("instant AT TIME ZONE 'UTC'"))
}

// maxPostgresYear is the last complete year of PostgreSQL's timestamps.
const maxPostgresYear = 294276

// ticksSQL returns the whole ticks from the epoch to the time, a timestamp with or without time zone. EXTRACT is exact
// since PostgreSQL 14, where it is numeric.
func (f *Functions) ticksSQL(at string) string {
	tick, epoch := int64(f.layout.Tick()), f.layout.Epoch().UnixNano()
	if tick%1000 == 0 && epoch%1000 == 0 {
		return "(((extract(epoch FROM " + at + ") * 1000000)::bigint" + minusSQL(epoch/1000) + ") / " +
			strconv.FormatInt(tick/1000, 10) + ")"
	}
	return "div(extract(epoch FROM " + at + ") * 1000000000" + minusSQL(epoch) + ", " +
		strconv.FormatInt(tick, 10) + ")::bigint"
}

// minusSQL returns the subtraction of the number; "--" would begin a comment.
func minusSQL(n int64) string {
	if n < 0 {
		return " + " + strconv.FormatUint(-uint64(n), 10)
	}
	return " - " + strconv.FormatInt(n, 10)
}

func ceilMicroseconds(t time.Time) time.Time {
	return floorMicroseconds(t.Add(time.Microsecond - time.Nanosecond))
}
