package conformance

import (
	"slices"
	"strings"
)

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
