package conformance

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
