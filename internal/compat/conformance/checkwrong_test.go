package conformance

import "slices"

// wrongColumn is a column with a value that is not an ID.
type wrongColumn struct {
	column  columns // databases without an entry have no such column
	literal string
	// integers is set if numeric types correctly read it.
	integers bool
}

func onPostgres(column string) columns { return columns{postgres: column} }

var wrongColumns = []wrongColumn{
	{everywhere("double precision"), "42", false},
	{everywhere("double precision"), "1234567890123456789", false},
	{everywhere("real"), "1.5", false},
	{columns{sqlite: "boolean", postgres: "boolean"}, "true", false}, // MariaDB's is a tinyint
	{everywhere("timestamp"), "'2026-01-02 03:04:05'", false},
	{everywhere("date"), "'2026-01-02'", false},
	{everywhere("varchar(60)"), "'garbage'", false},
	{everywhere("varchar(60)"), "'8 bytes!'", false},
	{everywhere("varchar(60)"), "''", false},
	{everywhere("varchar(60)"), "' 5'", false},
	{everywhere("varchar(60)"), "'007'", false},
	{everywhere("varchar(60)"), "'9223372036854775808'", false},
	{everywhere("varchar(60)"), "'zzzzzzzzzzzzz'", false},
	{everywhere("varchar(60)"), "'ZZZZZZZZZZZZZ'", false},
	{everywhere("varchar(60)"), "'user_0000000000005'", false},
	{everywhere("varchar(60)"), "'9b2f0a5e-4c1d-4e7b-8a53-6f1d2c3b4a59'", false},
	{columns{sqlite: "blob", mariadb: "blob"}, "x'0102030405'", false},
	{columns{sqlite: "blob", mariadb: "blob"}, "x''", false},
	{columns{sqlite: "blob", mariadb: "blob"}, "x'0102030405060708090a0b0c0d0e0f1011'", false},
	{columns{sqlite: "blob", mariadb: "blob"}, "x'0102030405060708090a0b0c0d0e0f10'", false},
	{onPostgres("bytea"), `'\x0102030405'`, false},
	{onPostgres("bytea"), `'\x'`, false},
	{onPostgres("bytea"), `'\x0102030405060708090a0b0c0d0e0f1011'`, false},
	{onPostgres("bytea"), `'\x0102030405060708090a0b0c0d0e0f10'`, false},
	{columns{postgres: "uuid", mariadb: "uuid"}, "'9b2f0a5e-4c1d-4e7b-8a53-6f1d2c3b4a59'", false}, // a random one
	// One of version 4, and one of an ID with an additional bit.
	{everywhere("varchar(60)"), "'11223344-5566-4778-9600-000000000000'", false},
	{everywhere("varchar(60)"), "'11223344-5566-8778-9600-000000000001'", false},
	{columns{postgres: "uuid", mariadb: "uuid"}, "'11223344-5566-4778-9600-000000000000'", false},
	{columns{postgres: "uuid", mariadb: "uuid"}, "'11223344-5566-8778-9600-000000000001'", false},
	{everywhere("decimal(30,2)"), "77.50", false},
	{everywhere("decimal(30,0)"), "9223372036854775808", false},
	{columns{mariadb: "bigint unsigned"}, "18446744073709551615", false},
	{onPostgres("json"), `'{"abc":1}'`, false},
	{onPostgres("jsonb"), `'{"abc":1}'`, false},
	{onPostgres("interval"), "'1 day'", false},
	{onPostgres("inet"), "'127.0.0.1'", false},
	{onPostgres("bigint[]"), "ARRAY[10,NULL]", false},
	{onPostgres("text[]"), "ARRAY['garbage']", false},
	{onPostgres("float8[]"), "ARRAY[1.5]", false},
	{everywhere("bigint"), "5", true},
	{everywhere("varchar(60)"), "'5'", true},
	{everywhere("decimal(30,0)"), "5", true},
}

// makeWrong creates a table for each wrong column that the database supports; the others have the name "".
func (s *session) makeWrong() error {
	s.wrongs = make([]string, len(wrongColumns))
	for i, wrong := range wrongColumns {
		column := wrong.column[s.dialect]
		if column == "" || column == "uuid" && s.noUUID {
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
	if c.session.wrongs == nil && !c.ok(c.session.makeWrong(), "make the tables") {
		return
	}
	for i, wrong := range wrongColumns {
		table := c.session.wrongs[i]
		if table == "" || wrong.integers && c.kind.integer {
			continue
		}
		for name, readInto := range map[string]reader[T]{"": read[T], ", without parameters,": readPlain[T]} {
			got := c.kind.old
			if err := readInto(c.session, &got, table, 0); err == nil || !c.fresh(got) {
				c.failf("%s %s%s is read as %v, error %v", wrong.column[c.session.dialect], wrong.literal, name, got, err)
			}
		}
		pointer := &c.kind.old
		if err := read(c.session, &pointer, table, 0); err == nil || pointer == &c.kind.old && !c.kind.keeps {
			c.failf("%s %s is read into a pointer as %v, error %v", wrong.column[c.session.dialect], wrong.literal, pointer, err)
		}
	}
	slices.Sort(c.failures)
}
