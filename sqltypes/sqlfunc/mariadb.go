package sqlfunc

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// mariadb returns the statements for MariaDB in the order in which they need each
// other. The first is a syntax error on MySQL, which has no compound statements
// outside of routines, so nothing of it is half installed there.
func (f *Functions) mariadb() ([]string, error) {
	statements := []string{f.mariadbFill(mariadbGuard)}
	if f.next {
		statements = append(statements, f.mariadbFill(mariadbState), f.mariadbFill(mariadbZones))
	}
	statements = append(statements,
		f.mariadbRoutine("layout", f.mariadbFill(mariadbLayout), f.layout.String()),
		f.mariadbSummed("time", f.mariadbTime()),
		f.mariadbSummed("parts", f.mariadbParts()))
	if f.ordered() {
		statements = append(statements, f.mariadbSummed("min", f.mariadbMin()))
	}
	if f.next {
		statements = append(statements, f.mariadbSummed("next", f.mariadbNext()))
	}
	if f.leases != nil {
		statements = append(statements, f.mariadbReserve()...)
	}
	return statements, nil
}

// mariadbScript is for the client mariadb, which cuts at semicolons unless it is
// told another delimiter.
func (f *Functions) mariadbScript() (string, error) {
	statements, err := f.mariadb()
	if err != nil {
		return "", err
	}
	return joinMariaDB(statements), nil
}

func joinMariaDB(statements []string) string {
	return "DELIMITER //\n\n" + strings.Join(statements, "//\n\n") + "//\n\nDELIMITER ;\n"
}

func (f *Functions) mariadbDrop() ([]string, error) {
	return []string{
		f.mariadbFill("DROP FUNCTION IF EXISTS {next}"),
		f.mariadbFill("DROP TABLE IF EXISTS {state}"),
		f.mariadbFill("DROP FUNCTION IF EXISTS {min}"),
		f.mariadbFill("DROP FUNCTION IF EXISTS {parts}"),
		f.mariadbFill("DROP FUNCTION IF EXISTS {time}"),
		f.mariadbFill("DROP FUNCTION IF EXISTS {layout}"),
	}, nil
}

// mariadbMode makes the meaning of the text, of overflows and of wrong arguments
// the same whatever the session's sql_mode is: a routine keeps that of its making.
const mariadbMode = `SET STATEMENT sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE' FOR
`

// mariadbGuard keeps functions of the same names that mean something else: the
// state counts in the layout's ticks. The layout is in the comment of a function.
const mariadbGuard = `BEGIN NOT ATOMIC
	DECLARE found, problem TEXT;
	SET found = (SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND routine_name = {layout text});
	IF found IS NULL AND EXISTS (SELECT 1 FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
			AND routine_name IN ({time text}, {parts text}, {min text}, {next text})) THEN
		SET found = 'not known';
	END IF;
	IF found <> {definition} THEN
		SET problem = LEFT(CONCAT({name text}, ' functions of another layout are installed: ', found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
END`

const mariadbLayout = mariadbMode + `CREATE OR REPLACE FUNCTION {layout}() RETURNS VARCHAR(1000) CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {definition}
RETURN {definition}`

// mariadbSummed puts a sum of the definition into the comment of a function.
func (f *Functions) mariadbSummed(what, definition string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(definition)) // never fails
	comment := fmt.Sprintf("sqlfunc %016x", sum.Sum64())
	return f.mariadbRoutine(what, strings.Replace(definition, "{comment}", "'"+comment+"'", 1), comment)
}

// mariadbRoutine makes a function unless it is there with this comment. Making it again would wait for all
// transactions that have used it, and let all others wait that are to use it. A routine can't be made
// within a compound statement but by EXECUTE IMMEDIATE. There is no backslash in the
// text, so only quotes have a meaning in the literal, under every sql_mode.
func (f *Functions) mariadbRoutine(what, definition, comment string) string {
	return f.mariadbFill(`BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = {routine} AND routine_comment = {comment}) THEN
		EXECUTE IMMEDIATE '
`+strings.ReplaceAll(definition, "'", "''")+`';
	END IF;
END`, "{routine}", "'"+f.called(what)+"'", "{comment}", "'"+comment+"'")
}

// mariadbFill puts names and numbers into a template for MariaDB. No name or text
// of ours has a quote or a backslash in it, see WithName and snowflake.NewLayout.
func (f *Functions) mariadbFill(template string, more ...string) string {
	at, sequence := f.place(snowflake.FieldTime), f.place(snowflake.FieldSequence)
	pairs := append([]string{
		"{name text}", "'" + f.name + "'",
		"{definition}", "'" + f.layout.String() + "'",
		"{layout text}", "'" + f.called("layout") + "'",
		"{next text}", "'" + f.called("next") + "'",
		"{time text}", "'" + f.called("time") + "'",
		"{parts text}", "'" + f.called("parts") + "'",
		"{min text}", "'" + f.called("min") + "'",

		"{time shift}", strconv.Itoa(at.shift),
		"{time max}", strconv.FormatInt(at.max(), 10),
		"{sequence bits}", strconv.Itoa(sequence.bits),
		"{sequence max}", strconv.FormatInt(sequence.max(), 10),
		"{sequence shift}", strconv.Itoa(sequence.shift),
	}, more...)
	for _, what := range []string{"layout", "time", "parts", "min", "next", "state"} {
		pairs = append(pairs, "{"+what+"}", backquoted(f.called(what)))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// backquoted returns a name in the quotes that MariaDB knows under every sql_mode.
func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
