package conformance

import (
	"database/sql"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The remedies of the README that no cell of the table tests.

// onTargets runs f on the targets that are chosen.
func onTargets(t *testing.T, chosen func(target) bool, f func(t *testing.T, s *session)) {
	t.Helper()
	for _, target := range targets {
		if chosen(target) {
			t.Run(target.name, func(t *testing.T) { f(t, connect(t, target)) })
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARegisteredSliceIsUnderstoodInEveryModeOfPgx(t *testing.T) {
	onTargets(t, func(to target) bool { return to.via == viaPgx }, func(t *testing.T, s *session) {
		s.conn.TypeMap().RegisterDefaultPgType([]snowflake.ID{}, "_int8")
		if failures := append(idKind.run(checkArray, s), idKind.run(checkANY, s)...); len(failures) > 0 {
			t.Errorf("%q", failures)
		}
	})
}

func TestJSONNumbersAreOneParameterForManyIDs(t *testing.T) {
	conditions := map[dialect]string{
		sqlite:  "v IN (SELECT value FROM json_each(?))",
		mariadb: "v IN (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
	}
	onTargets(t, func(to target) bool { return to.dialect != postgres }, func(t *testing.T, s *session) {
		table, err := create[snowflake.ID](s, idKind.column)
		must(t, err)
		must(t, insertAll(s, table, ids))
		found, err := s.numbers(table, conditions[s.dialect],
			sqltypes.Array[snowflake.ID]{1 << 53, 1<<53 + 1, -5}.JSONNumbers())
		if err != nil || !same(found, []int{3, 6}) {
			t.Errorf("found the rows %v, %v, want 3 and 6", found, err)
		}
	})
}

func TestGORMReadsNULLIntoANewRow(t *testing.T) {
	onTargets(t, func(to target) bool { return to.via == viaGORM }, func(t *testing.T, s *session) {
		table, err := create[sqltypes.Null](s, nullKind.column)
		must(t, err)
		must(t, insert(s, table, 0, sqltypes.Null{}))
		var rows []model[sqltypes.Null]
		if err := s.gorm.Table(table).Find(&rows).Error; err != nil || len(rows) != 1 || rows[0].V.Valid {
			t.Errorf("read %v, %v, want NULL", rows, err)
		}

		var pointer *snowflake.ID
		if err := read(s, &pointer, table, 0); err != nil || pointer != nil {
			t.Errorf("read %v, %v, want a nil pointer", pointer, err)
		}

		// The README describes other packages: if GORM changes this, change it.
		other := sql.NullInt64{Int64: oldID, Valid: true}
		if err := read(s, &other, table, 0); err != nil || !other.Valid {
			t.Errorf("a used sql.NullInt64 is %v, %v: GORM does not leave it alone any more", other, err)
		}
	})
}
