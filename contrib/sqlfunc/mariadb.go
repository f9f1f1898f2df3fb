package sqlfunc

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake"
)

// mariadb returns the statements for MariaDB in the order of their dependencies. The first is a syntax error on MySQL,
// which has no compound statements outside of routines, so nothing is installed partially there.
func (f *Functions) mariadb() []string {
	statements := []string{f.mariadbFill(mariadbGuard)}
	statements = append(statements,
		f.mariadbRoutine("layout", f.mariadbFill(mariadbLayout), f.layout.String()),
		f.mariadbSummed("time", f.mariadbTime()),
		f.mariadbSummed("parts", f.mariadbParts()))
	if f.ordered() {
		statements = append(statements, f.mariadbSummed("min", f.mariadbMin()))
	}
	return statements
}

// mariadbDrop removes the functions in the opposite order.
func (f *Functions) mariadbDrop() (statements []string) {
	for _, object := range []string{
		"FUNCTION IF EXISTS {min}", "FUNCTION IF EXISTS {parts}",
		"FUNCTION IF EXISTS {time}", "FUNCTION IF EXISTS {layout}",
	} {
		statements = append(statements, f.mariadbFill("DROP "+object))
	}
	return statements
}

// mariadbMode fixes the meaning of text, overflows and wrong arguments for every sql_mode of the session: a routine
// keeps the mode of its creation.
const mariadbMode = `SET STATEMENT sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE' FOR
`

// mariadbGuard rejects existing functions of the same names that mean something else: indexes and stored times may
// depend on them. It reads the installed layout from the comment of the function {layout}.
const mariadbGuard = `BEGIN NOT ATOMIC
	DECLARE found, problem TEXT;
	SET found = (SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND routine_name = {layout text});
	IF found IS NULL AND EXISTS (SELECT 1 FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
			AND routine_name IN ({time text}, {parts text}, {min text})) THEN
		SET found = 'unknown';
	END IF;
	IF found <> {definition} THEN
		SET problem = LEFT(CONCAT('{name}', ' functions of another layout are installed: ', found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
END`

const mariadbLayout = mariadbMode + `CREATE OR REPLACE FUNCTION {layout}() RETURNS VARCHAR(1000) CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {definition}
RETURN {definition}`

// mariadbSummed adds a checksum of the definition as the comment of a function.
func (f *Functions) mariadbSummed(what, definition string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(definition)) // never fails
	comment := fmt.Sprintf("sqlfunc %016x", sum.Sum64())
	return f.mariadbRoutine(what, strings.Replace(definition, "{comment}", "'"+comment+"'", 1), comment)
}

// mariadbRoutine creates a function unless it exists with this comment. To replace it would wait for all transactions
// that have used it and block all that want to. Within a compound statement only EXECUTE IMMEDIATE can create a
// routine. The text contains no backslash, so only quotes have a meaning in the literal, in every sql_mode.
func (f *Functions) mariadbRoutine(what, definition, comment string) string {
	return f.mariadbFill(`BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE()
		AND routine_type = 'FUNCTION' AND routine_name = {routine} AND routine_comment = {comment}) THEN
		EXECUTE IMMEDIATE '
`+strings.ReplaceAll(definition, "'", "''")+`';
	END IF;
END`, "{routine}", "'"+f.called(what)+"'", "{comment}", "'"+comment+"'")
}

// mariadbFill is fill with the names for MariaDB.
func (f *Functions) mariadbFill(template string, pairs ...any) string {
	for _, what := range []string{"layout", "time", "parts", "min"} {
		pairs = append(pairs, "{"+what+"}", backquoted(f.called(what)), "{"+what+" text}", "'"+f.called(what)+"'")
	}
	return f.fill(template, append(pairs,
		"{first}", ceilMicroseconds(f.layout.Epoch()).UnixMicro(),
		"{epoch}", f.layout.Epoch().Format(mariadbFormat),
		"{end}", f.layout.End().Format(mariadbFormat),
	)...)
}

// backquoted returns a name in the quotes that MariaDB accepts in every sql_mode.
func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

const mariadbFormat = "2006-01-02 15:04:05.999999999"

// mariadbTime counts from a DATETIME, which has no time zone. A TIMESTAMP would be printed in the session's time zone
// and covers only 1970 to 2038.
func (f *Functions) mariadbTime() string {
	body := "\tRETURN TIMESTAMPADD(MICROSECOND, {microseconds}, '1970-01-01 00:00:00.000000');"
	limit := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) // of DATETIME
	if f.layout.End().After(limit) {
		body = `	DECLARE problem TEXT;
	IF {microseconds} > {last} THEN
		SET problem = CONCAT({time text}, ': the time of ', id, ' is after the year 9999, the last of DATETIME');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
` + body
	}

	return f.mariadbFill(mariadbMode+`CREATE OR REPLACE FUNCTION {time}(id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
`+body+`
END`, "{microseconds}", f.mariadbMicroseconds(), "{last}", limit.UnixMicro()-1)
}

// mariadbMicroseconds returns the microseconds from 1970 to the start of an ID's tick, as a DECIMAL, which is exact to
// 65 digits. Shifts and masks are unsigned in MariaDB.
func (f *Functions) mariadbMicroseconds() string {
	form, tick, epoch := f.scaled(
		"(CAST(%s AS DECIMAL(20)) * %d + (%d))",
		"FLOOR((CAST(%s AS DECIMAL(20)) * %d + (%d)) * 0.001)")
	ticks := f.time.get(func(p place) string { return fmt.Sprintf("((id >> %d) & %d)", p.shift, p.max()) })
	return fmt.Sprintf(form, pgsql.Plain.Replace(ticks), tick, epoch)
}

// mariadbTicks returns the whole ticks from the epoch to a time that is not before it, in microseconds since 1970.
func (f *Functions) mariadbTicks(microseconds string) string {
	form, tick, epoch := f.scaled("(%s - (%d)) DIV %d", "(CAST(%s AS DECIMAL(30)) * 1000 - (%d)) DIV %d")
	return fmt.Sprintf(form, microseconds, epoch, tick)
}

// mariadbParts returns an object with the fields in the layout's order. The time is text in the form of RFC 3339.
func (f *Functions) mariadbParts() string {
	var values []string
	for _, p := range f.places {
		value := fmt.Sprintf("(id >> %d) & %d", p.shift, p.max())
		if p.name == snowflake.FieldTime {
			value = "CONCAT(DATE_FORMAT(" + backquoted(f.called("time")) + "(id), '%Y-%m-%dT%H:%i:%s.%f'), 'Z')"
		}
		values = append(values, "'"+p.name+"', "+value)
	}

	return f.mariadbFill(mariadbMode+`CREATE OR REPLACE FUNCTION {parts}(id BIGINT) RETURNS TEXT CHARACTER SET utf8mb4
DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
	IF id IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN JSON_OBJECT({values});
END`, "{values}", strings.Join(values, ",\n\t\t"))
}

// mariadbMin takes a time without a zone, in UTC.
func (f *Functions) mariadbMin() string {
	ticks := f.mariadbTicks("microseconds")

	return f.mariadbFill(mariadbMode+`CREATE OR REPLACE FUNCTION {min}(at DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
	DECLARE microseconds BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00.000000', at);
	DECLARE problem TEXT;
	IF at IS NOT NULL AND (microseconds IS NULL OR microseconds < {first}) THEN
		SET problem = CONCAT({min text}, ': ', at, ' is before the epoch, {epoch} UTC');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
	IF {ticks} > {time max} THEN
		SET problem = CONCAT({min text}, ': ', at, ' is not before the end, {end} UTC');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
	RETURN {least};
END`, "{ticks}", ticks, "{least}", pgsql.Plain.Replace(f.time.putPeriod("("+ticks+")")))
}
