package sqlfunc

import (
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// postgres returns the statements for PostgreSQL in the order in which they need
// each other.
func (f *Functions) postgres() []string {
	statements := []string{
		f.fill(postgresGuard),
		f.fill(postgresLayout),
		f.fill(postgresTime),
		f.postgresParts(),
	}
	if f.ordered() {
		statements = append(statements, f.postgresMin())
	}
	if f.next {
		statements = append(statements, f.fill(postgresState), f.postgresNext())
	}
	if f.leases != nil {
		statements = append(statements, f.postgresReserve()...)
	}
	return statements
}

func (f *Functions) postgresDrop() []string {
	return []string{
		f.fill("DROP FUNCTION IF EXISTS {next}()"),
		f.fill("DROP SEQUENCE IF EXISTS {state}"),
		f.fill("DROP FUNCTION IF EXISTS {parts}(bigint)"),
		f.fill("DROP FUNCTION IF EXISTS {min}(timestamptz)"),
		f.fill("DROP FUNCTION IF EXISTS {time}(bigint)"),
		f.fill("DROP FUNCTION IF EXISTS {layout}()"),
	}
}

// postgresGuard keeps functions of the same names that mean something else:
// indexes and views may rest on them, and the state counts in the layout's ticks.
// The lock is for two migrations at the same time, of which CREATE OR REPLACE fails one.
//
// Where others may create in the schema, what is there can be a trap. So the layout
// is read from the source of its function, which is not called, and what others own is not
// taken over: they would go on owning it, and a superuser gets no error for that.
const postgresGuard = `DO {quote}
DECLARE
	layout_found text;
	other name;
BEGIN
	IF pg_catalog.current_setting('server_version_num')::int < 140000 THEN
		RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
			MESSAGE = '{name}: the functions need PostgreSQL 14, whose EXTRACT is exact';
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended({layout text}, 0));
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'not known') INTO layout_found
		FROM pg_catalog.pg_proc WHERE oid = pg_catalog.to_regprocedure({layout text});
	IF layout_found IS NULL AND coalesce(pg_catalog.to_regprocedure({time text}), pg_catalog.to_regprocedure({parts text}),
		pg_catalog.to_regprocedure({min text}), pg_catalog.to_regprocedure({next text})) IS NOT NULL THEN
		layout_found := 'not known';
	END IF;
	IF layout_found <> {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = '{name} functions of another layout are installed: ' || layout_found,
			HINT = 'Drop them first if no ID was made with them, or choose another name or schema.';
	END IF;
	SELECT rolname INTO other FROM (
			SELECT proowner, pronamespace FROM pg_catalog.pg_proc WHERE oid IN (pg_catalog.to_regprocedure({layout text}),
				pg_catalog.to_regprocedure({time text}), pg_catalog.to_regprocedure({parts text}),
				pg_catalog.to_regprocedure({min text}), pg_catalog.to_regprocedure({next text}))
			UNION SELECT relowner, relnamespace FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass({state text})
		) AS there (owner, namespace)
		JOIN pg_catalog.pg_roles ON pg_roles.oid = owner JOIN pg_catalog.pg_namespace ON pg_namespace.oid = namespace
		WHERE rolname <> current_user AND NOT rolsuper AND owner <> nspowner
			AND (pg_catalog.current_setting('is_superuser') = 'on' OR NOT pg_catalog.pg_has_role(owner, 'USAGE'));
	IF other IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = '{name}: functions or the state belong to the role ' || other,
			HINT = 'Install as that role, or drop them first if they are not to be trusted.';
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_class LEFT JOIN pg_catalog.pg_sequence ON seqrelid = oid
		WHERE oid = pg_catalog.to_regclass({state text}) AND (relpersistence <> 'p' OR seqrelid IS NULL
			OR seqincrement <> 1 OR seqcache <> 1 OR seqcycle OR seqmin > 1 OR seqmax < 9223372036854775807)) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
			MESSAGE = '{name}_state is there, and not as the sequence that the functions count with';
	END IF;
END {quote}`

const postgresLayout = `CREATE OR REPLACE FUNCTION {layout}() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS {quote}
	SELECT {definition}::text
{quote}`

const postgresState = `CREATE SEQUENCE IF NOT EXISTS {state}`

// fill puts names and numbers into a template for PostgreSQL.
func (f *Functions) fill(template string, more ...string) string {
	at, sequence := f.place(snowflake.FieldTime), f.place(snowflake.FieldSequence)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	pairs := append([]string{
		"{quote}", f.dollarQuote(),
		"{name}", f.name,
		"{definition}", literalSQL(f.layout.String()),
		"{layout text}", literalSQL(f.qualified("layout") + "()"),
		"{time text}", literalSQL(f.qualified("time") + "(bigint)"),
		"{parts text}", literalSQL(f.qualified("parts") + "(bigint)"),
		"{min text}", literalSQL(f.qualified("min") + "(timestamptz)"),
		"{next text}", literalSQL(f.qualified("next") + "()"),
		"{state text}", literalSQL(f.qualified("state")),
		"{layout}", f.qualified("layout"),
		"{time}", f.qualified("time"),
		"{parts}", f.qualified("parts"),
		"{min}", f.qualified("min"),
		"{next}", f.qualified("next"),
		"{state}", f.qualified("state"),

		"{time shift}", strconv.Itoa(at.shift),
		"{time max}", number(at.max()),
		"{sequence shift}", strconv.Itoa(sequence.shift),
		"{sequence max}", number(sequence.max()),
		"{epoch}", f.epochMicroseconds().Format(timestampFormat),
		"{microseconds}", f.microsecondsSQL(),
	}, more...)
	return strings.NewReplacer(pairs...).Replace(template)
}

// qualified returns the name of a function, or of the state, with its schema.
func (f *Functions) qualified(what string) string {
	return identifierSQL(f.schema) + "." + f.called(what)
}

const timestampFormat = "2006-01-02 15:04:05.999999"

// epochMicroseconds returns the epoch without what is below a microsecond.
func (f *Functions) epochMicroseconds() time.Time {
	return floorMicroseconds(f.layout.Epoch())
}

// floorMicroseconds is Truncate for times that may be before the year 1 as well.
func floorMicroseconds(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Nanosecond() % 1000))
}
