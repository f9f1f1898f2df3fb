//go:build !race

package libraries

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/Masterminds/squirrel"
	"github.com/doug-martin/goqu/v9"
	"github.com/gocraft/dbr/v2"
	"github.com/gocraft/dbr/v2/dialect"
	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3"
	"xorm.io/builder"
	"xorm.io/xorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// argument is a value that a program gives to a query builder, and the column of ClickHouse that takes it.
type argument struct {
	name   string
	value  any
	isList bool
	column column.Type
}

var arguments = []argument{
	{"an ID", number, false, "Int64"},
	{"a Typed", userID(number), false, "Int64"},
	{"a []ID", []snowflake.ID{1, 2}, true, "Array(Int64)"},
	{"an Array", sqltypes.Array[snowflake.ID]{1, 2}, true, "Array(Int64)"},
	{"NULL", sqltypes.Null{}, false, "Nullable(Int64)"},
	{"a nil *ID", (*snowflake.ID)(nil), false, "Nullable(Int64)"},
}

// builders return the condition that they build from an argument, or what they store.
var builders = []struct {
	name  string
	build func(a argument) (string, error)
	mend  string // the README's line for a panic, for "= NULL", which no row meets, and for other values
}{
	{"jmoiron/sqlx.In", func(a argument) (string, error) {
		if a.isList {
			query, args, err := sqlx.In("id IN (?)", a.value)
			return filled(query, args), err
		}
		// It calls Value of all arguments as soon as one of them is a list.
		_, args, err := sqlx.In("id = ? OR id IN (?)", a.value, []snowflake.ID{1})
		return filled("id = ?", args[:1]), err
	}, "a Null, and `IS NULL` in the query"},
	{"Masterminds/squirrel", func(a argument) (string, error) {
		query, args, err := squirrel.Eq{"id": a.value}.ToSql()
		return filled(query, args), err
	}, "a Null"},
	{"doug-martin/goqu/v9", func(a argument) (string, error) {
		query, args, err := goqu.From("t").Prepared(true).Where(goqu.Ex{"id": a.value}).ToSQL()
		_, condition, _ := strings.Cut(query, " WHERE ")
		return filled(strings.TrimSuffix(strings.TrimPrefix(condition, "("), ")"), args), err
	}, "`goqu.C(\"id\").IsNull()` for NULL"},
	{"gocraft/dbr/v2", func(a argument) (string, error) {
		return dbr.InterpolateForDialect("?", []any{dbr.Eq("id", a.value)}, dialect.PostgreSQL)
	}, "`dbr.Eq(\"id\", nil)` for NULL"},
	{"xorm.io/builder", func(a argument) (string, error) {
		condition := builder.Cond(builder.Eq{"id": a.value})
		if a.isList {
			condition = builder.In("id", a.value)
		}
		query, args, err := builder.ToSQL(condition)
		return filled(query, args), err
	}, "`builder.IsNull{\"id\"}` for NULL"},
	{"ClickHouse/clickhouse-go/v2", func(a argument) (string, error) {
		stored, err := a.column.Column("id", nil)
		if err != nil {
			return "", err
		}
		if err := stored.AppendRow(a.value); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s: %v", a.column, stored.Row(0, false)), nil
	}, "a `[]snowflake.ID(array)`, and a Null"},
}

// filled replaces the placeholders by what a driver gets.
func filled(query string, args []any) string {
	for _, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			panic(err)
		}

		text := fmt.Sprint(value)
		switch value := value.(type) {
		case nil:
			text = "NULL"
		case string:
			text = "'" + value + "'"
		}

		query = strings.Replace(query, "?", text, 1)
	}

	return query
}

// build returns a cell, and whether it needs a line.
func build(a argument, from func(a argument) (string, error)) (cell string, wrong bool) {
	defer func() {
		if recover() != nil {
			cell, wrong = "**panic**", true
		}
	}()

	built, err := from(a)
	if err != nil {
		return "error", false
	}

	cell = "`" + strings.ReplaceAll(built, number.String(), "ID") + "`"
	isCodes := strings.Contains(built, "123 49") // "{1" in ASCII
	isNever := strings.Contains(strings.ReplaceAll(built, " ", ""), "=NULL")
	if isCodes || isNever {
		return "**" + cell + "**", true
	}

	return cell, false
}

func TestArgumentsOfBuildersAreRightOrHaveALine(t *testing.T) {
	table := newTable("library", "the line that mends it")
	for _, a := range arguments {
		table.addColumn(a.name)
	}

	for _, b := range builders {
		var cells []string
		isWrong := false
		for _, a := range arguments {
			cell, wrong := build(a, b.build)
			cells, isWrong = append(cells, cell), isWrong || wrong
		}

		table.addRow(b.name, b.mend, cells)

		if isWrong != (b.mend != "") {
			t.Errorf("%s needs a line: %v; it has %q", b.name, isWrong, b.mend)
		}
	}

	table.check(t, "arguments")
}

// The remedy for NULL, and why it isn't a pointer. The lines for other builders are beside.
func TestANullIsAnArgumentOfBuilders(t *testing.T) {
	db := sqlx.MustOpen("sqlite3", "file:null?mode=memory&cache=shared")
	defer db.Close()

	db.MustExec("CREATE TABLE orders (id bigint, parent bigint)")
	db.MustExec("INSERT INTO orders VALUES (?, ?), (?, ?)", number, sqltypes.Null{}, number+1,
		sqltypes.NullFrom(number))

	const query = "SELECT id FROM orders WHERE parent IS ? AND id IN (?)"
	ids := []snowflake.ID{number, number + 1}
	for parent, want := range map[sqltypes.Null]snowflake.ID{{}: number, sqltypes.NullFrom(number): number + 1} {
		query, args, err := sqlx.In(query, parent, ids)
		var found []snowflake.ID
		if err == nil {
			err = db.Select(&found, query, args...)
		}
		if err != nil || len(found) != 1 || found[0] != want {
			t.Errorf("with the parent %v found %v, %v, want %d", parent, found, err, want)
		}
	}

	defer func() {
		if recover() == nil {
			t.Error("sqlx.In does not panic at a nil *ID any more: say so in README.md, snowflake.ID.Scan and its errors")
		}
	}()

	_, _, _ = sqlx.In(query, (*snowflake.ID)(nil), ids)
}

func TestLinesForNULLInBuilders(t *testing.T) {
	fromGoqu, _, err := goqu.From("t").Where(goqu.C("id").IsNull()).ToSQL()
	fromDBR, dbrErr := dbr.InterpolateForDialect("?", []any{dbr.Eq("id", nil)}, dialect.PostgreSQL)
	fromXORM, _, xormErr := builder.ToSQL(builder.IsNull{"id"})
	for _, query := range []string{fromGoqu, fromDBR, fromXORM} {
		if !strings.Contains(strings.ReplaceAll(query, `"`, ""), "id IS NULL") {
			t.Errorf("%s, %v, %v, %v", query, err, dbrErr, xormErr)
		}
	}

	for _, b := range builders { // the remedies for a Typed, which has no Null of its own
		for _, null := range []any{nil, sql.Null[userID]{}} {
			cell, _ := build(argument{value: null, column: "Nullable(Int64)"}, b.build)
			if cell == "**panic**" || cell == "error" {
				t.Errorf("%s makes of %T: %s", b.name, null, cell)
			}
		}
	}

	array := sqltypes.Array[snowflake.ID]{1, 2}
	slice := argument{value: []snowflake.ID(array), isList: true, column: "Array(Int64)"}
	if stored, err := builders[len(builders)-1].build(slice); stored != "Array(Int64): [1 2]" || err != nil {
		t.Errorf("ClickHouse stores %s, %v", stored, err)
	}
}

func TestXORMDeclaresANullAsText(t *testing.T) {
	engine, err := xorm.NewEngine("sqlite3", "file:xorm?mode=memory&cache=shared")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()

	type Order struct {
		ID     snowflake.ID  `xorm:"pk 'id'"`
		Parent sqltypes.Null `xorm:"BIGINT 'parent'"`
		Text   sqltypes.Null `xorm:"'text'"`
	}
	rows := []Order{
		{ID: number, Parent: sqltypes.NullFrom(number - 1), Text: sqltypes.NullFrom(number)},
		{ID: number + 1},
	}

	if err := engine.Sync(&Order{}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Insert(&rows); err != nil {
		t.Fatal(err)
	}

	columns, err := engine.QueryString("SELECT name, type FROM pragma_table_info('order')")
	types := map[string]string{}
	for _, column := range columns {
		types[column["name"]] = column["type"]
	}

	if types["id"] != "INTEGER" || types["parent"] != "INTEGER" || types["text"] != "TEXT" || err != nil {
		t.Errorf("the columns are %v, %v", types, err)
	}

	var read []Order
	if err := engine.OrderBy("id").Find(&read); err != nil || len(read) != 2 || read[0] != rows[0] ||
		read[1] != rows[1] {
		t.Errorf("read %v, %v, want %v", read, err, rows)
	}
}
