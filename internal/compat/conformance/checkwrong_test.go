package conformance

import "slices"

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
