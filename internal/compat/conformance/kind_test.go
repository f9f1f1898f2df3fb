package conformance

import (
	"fmt"
	"reflect"
	"strings"
)

// columns has the SQL of a column for each database.
type columns map[dialect]string

// kind describes one of the types to the checks.
type kind[T any] struct {
	label   string
	column  columns // its declared type
	array   string  // the type of an array of them on PostgreSQL
	text    columns // an expression for what the column v holds, as text
	samples []sample[T]
	old     T    // what a variable holds before something is read into it
	absent  T    // a value that no column contains
	null    bool // the zero value is NULL
	integer bool // the column contains the number of the ID
	keeps   bool // a variable keeps its value on an error, where other types become zero
	isArray bool
}

// sample is a value and its other forms.
type sample[T any] struct {
	value   T
	stored  string  // result of the expression kind.text
	literal columns // in SQL
}

// subject is a kind of any type: a row of the tables.
type subject interface {
	name() string
	// run runs a check on the type and returns the failures.
	run(check check, s *session) []string
}

func (k kind[T]) name() string { return k.label }

func (k kind[T]) run(which check, s *session) []string {
	c := &cell[T]{kind: k, session: s}
	map[check]func(){
		checkInsert: c.insert, checkRead: c.read, checkNull: c.null, checkArray: c.array, checkIN: c.in,
		checkANY:       c.any,
		checkWrongType: c.wrongType,
	}[which]()
	return c.failures
}

// check is a column of the tables.
type check string

const (
	checkInsert    check = "insert"
	checkRead      check = "read"
	checkNull      check = "NULL"
	checkArray     check = "array"
	checkIN        check = "IN"
	checkANY       check = "ANY"
	checkWrongType check = "wrong type"
)

var checks = []check{checkInsert, checkRead, checkNull, checkIN, checkWrongType}

// arrayChecks are for databases with arrays.
var arrayChecks = []check{checkArray, checkANY}

// cell is a check of a type on a target while it runs.
type cell[T any] struct {
	kind     kind[T]
	session  *session
	failures []string
}

func (c *cell[T]) failf(format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// ok records an error and reports whether there was none.
func (c *cell[T]) ok(err error, format string, args ...any) bool {
	if err != nil {
		c.failf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return err == nil
}

// same distinguishes nil slices from empty ones, like NULL and {}.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// fresh reports whether v has a permitted value after an error: not the previous one. If the type does not change it,
// GORM may have set it to zero.
func (c *cell[T]) fresh(v T) bool {
	var zero T
	return same(v, zero) || c.kind.keeps && same(v, c.kind.old)
}

// filled returns a table with the samples, written as literals, in rows 0, 1, and so on.
func (c *cell[T]) filled() (table string, ok bool) {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return "", false
	}

	rows := make([]string, len(c.kind.samples))
	for n, sample := range c.kind.samples {
		rows[n] = "(" + decimal(n) + ", " + sample.literal[c.session.dialect] + ")"
	}

	err = c.session.exec("INSERT INTO " + table + " (n, v) VALUES " + strings.Join(rows, ", "))
	return table, c.ok(err, "write literals")
}
