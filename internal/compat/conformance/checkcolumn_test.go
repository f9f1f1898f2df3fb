package conformance

import (
	"database/sql"
	"errors"

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
