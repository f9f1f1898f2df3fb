package conformance

import (
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// insert writes values of the type and compares what the database contains.
func (c *cell[T]) insert() {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return
	}

	for n, sample := range c.kind.samples {
		if !c.ok(insert(c.session, table, n, sample.value), "insert %s", sample.stored) {
			continue
		}

		c.isStored(table, n, sample.stored)
		// Over another value, as an update of a row.
		if c.ok(update(c.session, table, n, c.kind.absent), "update to %v", c.kind.absent) &&
			c.ok(update(c.session, table, n, sample.value), "update to %s", sample.stored) {
			c.isStored(table, n, sample.stored)
		}
	}

	c.insertMany()
}

// isStored compares a row in the database.
func (c *cell[T]) isStored(table string, n int, want string) {
	var got sql.NullString
	err := c.session.scan(&got, "SELECT "+c.kind.text[c.session.dialect]+" FROM "+table+" WHERE n = "+decimal(n))
	if c.ok(err, "ask for what is stored") && got.String != want {
		c.failf("the column holds %q, want %q", got.String, want)
	}
}

// insertMany writes all samples together, in the way of the target.
func (c *cell[T]) insertMany() {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return
	}

	values := make([]T, len(c.kind.samples))
	for n, sample := range c.kind.samples {
		values[n] = sample.value
	}

	if !c.ok(insertAll(c.session, table, values), "insert many") {
		return
	}

	for n, sample := range c.kind.samples {
		c.isStored(table, n, sample.stored)
	}
}

// read reads values that were written without the type.
func (c *cell[T]) read() {
	table, ok := c.filled()
	if !ok {
		return
	}

	for n, sample := range c.kind.samples {
		for what, readInto := range map[string]reader[T]{
			"with parameters":    read[T],
			"without parameters": readPlain[T],
		} {
			got := c.kind.old
			if err := readInto(c.session, &got, table, n); !same(got, sample.value) || err != nil {
				c.failf("%s is read %s as %v, %v", sample.stored, what, got, err)
			}
		}

		pointer, null := &c.kind.old, sql.Null[T]{}
		if err := read(c.session, &pointer, table, n); err != nil || pointer == nil || !same(*pointer, sample.value) {
			c.failf("%s is read into a pointer as %v, %v", sample.stored, pointer, err)
		}
		if err := read(c.session, &null, table, n); err != nil || !null.Valid || !same(null.V, sample.value) {
			c.failf("%s is read into a sql.Null as %v, %v", sample.stored, null, err)
		}
	}

	var all []T
	dest := c.kind.old
	c.ok(walk(c.session, &dest, table, func() { all = append(all, dest) }), "read all rows")

	for n, sample := range c.kind.samples {
		if n >= len(all) || !same(all[n], sample.value) {
			c.failf("the rows are read as %v", all)
			return
		}
	}
}

// null reads and writes NULL. A variable must not keep its previous value.
func (c *cell[T]) null() {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return
	}
	if !c.ok(insert[*T](c.session, table, 0, nil), "insert a nil pointer") {
		return
	}

	c.isNull(table, 0)

	readNull(c, "NULL", read, read, read, table)
	readNull(c, "NULL without parameters", readPlain, readPlain, readPlain, table)
	if c.kind.null {
		c.nullBetweenValues(table)
	}
}

func (c *cell[T]) isNull(table string, n int) {
	var isNull bool
	err := c.session.scan(&isNull, "SELECT v IS NULL FROM "+table+" WHERE n = "+decimal(n))
	if c.ok(err, "ask for NULL") && !isNull {
		c.failf("NULL is not stored as NULL")
	}
}

// reader is read or readPlain.
type reader[T any] func(s *session, dest *T, table string, n int) error

// readNull reads row 0, which is NULL, into variables that hold values.
func readNull[T any](
	c *cell[T], what string, one reader[T], pointer reader[*T], null reader[sql.Null[T]], table string,
) {
	var zero T
	got := c.kind.old
	switch err := one(c.session, &got, table, 0); {
	case err == nil && same(got, c.kind.old):
		c.failf("%s leaves the old value behind", what)
	case c.kind.null && (err != nil || !same(got, zero)):
		c.failf("%s is read as %v, %v", what, got, err)
	case c.kind.null:
	case err == nil:
		c.failf("%s is read as %v, without an error", what, got)
	case !c.fresh(got):
		c.failf("%s leaves %v behind, error %v", what, got, err)
	case !errors.Is(err, snowflake.ErrNull):
		c.failf("%s gives an error that is not ErrNull: %v", what, err)
	}

	p := &c.kind.old
	if err := pointer(c.session, &p, table, 0); err == nil && p != nil {
		c.failf("%s leaves the old pointer behind", what)
	} else if err != nil {
		c.failf("%s is read into a pointer with the error %v", what, err)
	}

	n := sql.Null[T]{V: c.kind.old, Valid: true}
	if err := null(c.session, &n, table, 0); err == nil && (n.Valid || !same(n.V, zero)) {
		c.failf("%s leaves the old sql.Null behind", what)
	} else if err != nil {
		c.failf("%s is read into a sql.Null with the error %v", what, err)
	}
}

// nullBetweenValues writes the type's own NULL, and reads it in a row of values into one variable.
func (c *cell[T]) nullBetweenValues(table string) {
	var zero T
	value := c.kind.samples[1].value
	for n, v := range []T{value, zero, value, zero} {
		if !c.ok(insert(c.session, table, n+1, v), "insert %v", v) {
			return
		}
	}

	c.isNull(table, 2)
	if !c.ok(update(c.session, table, 1, zero), "update to NULL") {
		return
	}

	c.isNull(table, 1)
	dest, all := c.kind.old, []T(nil)
	c.ok(walk(c.session, &dest, table, func() { all = append(all, dest) }), "read all rows")

	if want := []T{zero, zero, zero, value, zero}; !same(all, want) {
		c.failf("the rows are read as %v, want %v", all, want)
	}
}

// array writes and reads a column of PostgreSQL's arrays. For a type of single IDs it uses a plain slice, for an array
// type the type.
func (c *cell[T]) array() {
	if c.kind.isArray {
		c.ownArray()
		return
	}

	table, err := create[[]T](c.session, everywhere(c.kind.array))
	if !c.ok(err, "create a table") {
		return
	}

	var values []T
	for _, sample := range c.kind.samples {
		values = append(values, sample.value)
	}

	for n, want := range [][]T{values, {}, nil} {
		if !c.ok(insert(c.session, table, n, want), "insert a slice of %d", len(want)) {
			continue
		}
		got := []T{c.kind.old, c.kind.old}
		if err := read(c.session, &got, table, n); err != nil || !same(got, want) {
			c.failf("a slice of %d is read as %v, %v", len(want), got, err)
		}
	}
}

// ownArray distinguishes an empty array from NULL and rejects values that the type cannot hold.
func (c *cell[T]) ownArray() {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return
	}

	var null T
	for n, want := range []T{c.kind.samples[0].value, null, c.kind.samples[3].value} {
		if !c.ok(insert(c.session, table, n, want), "insert %v", want) {
			continue
		}
		got := c.kind.old
		if err := readPlain(c.session, &got, table, n); err != nil || !same(got, want) {
			c.failf("%#v is read as %v, %v", want, got, err)
		}
	}

	for n, literal := range map[int]string{4: "ARRAY[1,NULL]::bigint[]", 5: "ARRAY[[1,2],[3,4]]::bigint[]"} {
		if !c.ok(c.session.exec("INSERT INTO "+table+" (n, v) VALUES ("+decimal(n)+", "+literal+")"), "write %s",
			literal) {
			continue
		}
		got := c.kind.old
		if err := read(c.session, &got, table, n); err == nil || !c.fresh(got) {
			c.failf("%s is read as %v, %v", literal, got, err)
		}
	}
}

// in looks for values with = and IN.
func (c *cell[T]) in() {
	table, ok := c.filled()
	if !ok {
		return
	}

	for n, sample := range c.kind.samples {
		found, err := c.session.numbers(table, "v = ?", sample.value)
		if err != nil || !slices.Equal(found, []int{n}) {
			c.failf("v = %s finds the rows %v, %v, want %d", sample.stored, found, err, n)
		}
	}

	last := len(c.kind.samples) - 1
	values := []T{c.kind.samples[last].value, c.kind.absent, c.kind.samples[0].value, c.kind.samples[2].value}
	if c.kind.null {
		var null T
		values = append(values, null) // finds nothing: NULL is not equal to NULL
	}

	found, err := c.session.numbers(table, c.listOf(values), c.argsOf(values)...)
	if want := []int{0, 2, last}; err != nil || !slices.Equal(found, want) {
		c.failf("IN finds the rows %v, %v, want %v", found, err, want)
	}
}

// listOf writes the condition with a parameter for each value. GORM takes the slice.
func (c *cell[T]) listOf(values []T) string {
	if c.session.gorm != nil {
		return "v IN ?"
	}
	return "v IN (?" + strings.Repeat(", ?", len(values)-1) + ")"
}

func (c *cell[T]) argsOf(values []T) []any {
	if c.session.gorm != nil {
		return []any{values}
	}
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = value
	}
	return args
}

// any looks for values with a single parameter for all: = ANY. For a type of single IDs this is a plain slice.
func (c *cell[T]) any() {
	if c.kind.isArray {
		c.anyOfArray()
		return
	}

	table, ok := c.filled()
	if !ok {
		return
	}

	last := len(c.kind.samples) - 1
	for _, test := range []struct {
		values []T
		want   []int
	}{
		{[]T{c.kind.samples[last].value, c.kind.absent, c.kind.samples[1].value}, []int{1, last}},
		{[]T{}, nil},
	} {
		found, err := c.session.numbers(table, "v = ANY(?)", test.values)
		if err != nil || !slices.Equal(found, test.want) {
			c.failf("= ANY finds the rows %v, %v, want %v", found, err, test.want)
		}
	}
}

// anyOfArray looks for the elements of an array in a column of integers, and for a row whose array has an element.
func (c *cell[T]) anyOfArray() {
	table, err := create[int64](c.session, everywhere("bigint"))
	if !c.ok(err, "create a table") {
		return
	}

	for n, id := range []int64{1, 42, 1 << 53, 1<<53 + 1} {
		if !c.ok(insert(c.session, table, n, id), "insert %d", id) {
			return
		}
	}

	for _, test := range []struct {
		array T
		want  []int
	}{
		{c.kind.samples[2].value, []int{0, 1, 3}},
		{c.kind.samples[0].value, nil}, // {}
		{*new(T), nil},                 // NULL
	} {
		found, err := c.session.numbers(table, "v = ANY(?)", test.array)
		if err != nil || !slices.Equal(found, test.want) {
			c.failf("= ANY of %v finds the rows %v, %v, want %v", test.array, found, err, test.want)
		}
	}

	if table, ok := c.filled(); ok {
		found, err := c.session.numbers(table, "? = ANY(v)", int64(1<<53+1))
		if err != nil || !slices.Equal(found, []int{2}) {
			c.failf("ANY of the column finds the rows %v, %v, want 2", found, err)
		}
	}
}

// wrongColumn is a column with a value that is not an ID.
type wrongColumn struct {
	column  columns // databases without an entry have no such column
	literal string
	// integers is set if numeric types correctly read it.
	integers bool
}

var wrongColumns = func() (all []wrongColumn) {
	blob, uuid := columns{sqlite: "blob", mariadb: "blob"}, columns{postgres: "uuid", mariadb: "uuid"}
	for _, wrong := range []struct {
		column   columns
		literals []string
	}{
		{everywhere("double precision"), []string{"42", "1234567890123456789"}},
		{everywhere("real"), []string{"1.5"}},
		{columns{sqlite: "boolean", postgres: "boolean"}, []string{"true"}}, // MariaDB's is a tinyint
		{everywhere("timestamp"), []string{"'2026-01-02 03:04:05'"}},
		{everywhere("date"), []string{"'2026-01-02'"}},
		{everywhere("varchar(60)"), []string{
			"'garbage'", "'8 bytes!'", "''", "' 5'", "'007'", "'9223372036854775808'", "'zzzzzzzzzzzzz'",
			"'ZZZZZZZZZZZZZ'",
			"'user_0000000000005'", "'9b2f0a5e-4c1d-4e7b-8a53-6f1d2c3b4a59'",
			"'11223344-5566-4778-9600-000000000000'", // of version 4
			"'11223344-5566-8778-9600-000000000001'", // of an ID with an additional bit
		}},
		{blob, []string{
			"x'0102030405'", "x''", "x'0102030405060708090a0b0c0d0e0f1011'",
			"x'0102030405060708090a0b0c0d0e0f10'",
		}},
		{columns{postgres: "bytea"}, []string{
			`'\x0102030405'`, `'\x'`, `'\x0102030405060708090a0b0c0d0e0f1011'`, `'\x0102030405060708090a0b0c0d0e0f10'`,
		}},
		{uuid, []string{
			"'9b2f0a5e-4c1d-4e7b-8a53-6f1d2c3b4a59'", "'11223344-5566-4778-9600-000000000000'",
			"'11223344-5566-8778-9600-000000000001'",
		}},
		{everywhere("decimal(30,2)"), []string{"77.50"}},
		{everywhere("decimal(30,0)"), []string{"9223372036854775808"}},
		{columns{mariadb: "bigint unsigned"}, []string{"18446744073709551615"}},
		{columns{postgres: "jsonb"}, []string{`'{"abc":1}'`}},
		{columns{postgres: "interval"}, []string{"'1 day'"}},
		{columns{postgres: "inet"}, []string{"'127.0.0.1'"}},
		{columns{postgres: "bigint[]"}, []string{"ARRAY[10,NULL]"}},
		{columns{postgres: "text[]"}, []string{"ARRAY['garbage']"}},
		{columns{postgres: "float8[]"}, []string{"ARRAY[1.5]"}},
	} {
		for _, literal := range wrong.literals {
			all = append(all, wrongColumn{wrong.column, literal, false})
		}
	}

	return append(all,
		wrongColumn{everywhere("bigint"), "5", true},
		wrongColumn{everywhere("varchar(60)"), "'5'", true},
		wrongColumn{everywhere("decimal(30,0)"), "5", true})
}()

// makeWrong creates a table for each wrong column that the database supports; the others have the name "".
func (s *session) makeWrong() error {
	s.wrongs = make([]string, len(wrongColumns))
	for i, wrong := range wrongColumns {
		column := wrong.column[s.dialect]
		if column == "" {
			continue
		}

		table := s.table()
		if err := s.exec("CREATE TABLE " + table + " (n integer PRIMARY KEY, v " + column + ")"); err != nil {
			return err
		}
		if err := s.exec("INSERT INTO " + table + " (n, v) VALUES (0, " + wrong.literal + ")"); err != nil {
			return err
		}

		s.wrongs[i] = table
	}

	return nil
}

// wrongType reads columns without an ID into a variable with one: it must return an error and not keep the previous
// value.
func (c *cell[T]) wrongType() {
	for i, wrong := range wrongColumns {
		table := c.session.wrongs[i]
		if table == "" || wrong.integers && c.kind.integer {
			continue
		}

		for name, readInto := range map[string]reader[T]{"": read[T], ", without parameters,": readPlain[T]} {
			got := c.kind.old
			if err := readInto(c.session, &got, table, 0); err == nil || !c.fresh(got) {
				c.failf("%s %s%s is read as %v, error %v", wrong.column[c.session.dialect], wrong.literal, name, got,
					err)
			}
		}

		pointer := &c.kind.old
		if err := read(c.session, &pointer, table, 0); err == nil || pointer == &c.kind.old && !c.kind.keeps {
			c.failf("%s %s is read into a pointer as %v, error %v", wrong.column[c.session.dialect], wrong.literal,
				pointer, err)
		}
	}

	slices.Sort(c.failures)
}
