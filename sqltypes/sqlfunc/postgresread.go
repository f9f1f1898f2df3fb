package sqlfunc

import (
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// postgresTime adds to a timestamp without time zone: adding to one with is not
// immutable in PostgreSQL, for the sake of days that have 23 hours, and so would
// neither be inlined nor allowed in an index. Days are apart because the product
// is made with a double, which is exact to 2^53.
const postgresTime = `CREATE OR REPLACE FUNCTION {time}(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS {quote}
	SELECT (timestamp '{epoch}'
		+ make_interval(days => ({microseconds} / 86400000000)::int)
		+ interval '1 microsecond' * ({microseconds} % 86400000000)) AT TIME ZONE 'UTC'
{quote}`

// microsecondsSQL returns the microseconds from the epoch's to the start of the
// tick of $1. What a tick has below a microsecond is added apart, a thousand
// ticks at a time, so that nothing overflows before the sum does.
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

// postgresParts has a column for each field. The parameter's name is none that a
// field can have.
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

// postgresMin is PL/pgSQL for the sake of its errors. As it is immutable the
// planner still runs it once for a constant and compares the index with a number.
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

// maxPostgresYear is the last year that PostgreSQL's timestamps have completely.
const maxPostgresYear = 294276

// ticksSQL returns the whole ticks from the epoch to the time, a timestamp with or
// without time zone. EXTRACT is of type numeric since PostgreSQL 14, so exact.
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
