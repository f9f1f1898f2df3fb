package conformance

import (
	"database/sql"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The remedies of the notes that no cell of the table tests.

func TestARegisteredSliceIsUnderstoodInEveryModeOfPgx(t *testing.T) {
	for _, target := range targets {
		if target.via != viaPgx {
			continue
		}
		t.Run(target.name, func(t *testing.T) {
			s := connect(t, target)
			s.conn.TypeMap().RegisterDefaultPgType([]snowflake.ID{}, "_int8")
			for _, check := range []check{checkArray, checkANY} {
				if failures := idKind.run(check, s); len(failures) > 0 {
					t.Errorf("%s: %q", check, failures)
				}
			}
		})
	}
}

func TestJSONNumbersAreOneParameterForManyIDs(t *testing.T) {
	conditions := map[dialect]string{
		sqlite:  "v IN (SELECT value FROM json_each(?))",
		mariadb: "v IN (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
	}
	for _, target := range targets {
		if target.dialect == postgres {
			continue
		}
		t.Run(target.name, func(t *testing.T) {
			s := connect(t, target)
			table, err := create[snowflake.ID](s, idKind.column)
			if err != nil {
				t.Fatal(err)
			}
			for n, id := range ids {
				if err := insert(s, table, n, id); err != nil {
					t.Fatal(err)
				}
			}
			found, err := s.numbers(table, conditions[target.dialect], sqltypes.Array[snowflake.ID]{1 << 53, 1<<53 + 1, -5}.JSONNumbers())
			if err != nil || !same(found, []int{3, 6}) {
				t.Errorf("found the rows %v, %v, want 3 and 6", found, err)
			}
		})
	}
}

func TestGORMReadsNULLIntoANewRow(t *testing.T) {
	for _, target := range targets {
		if target.via != viaGORM {
			continue
		}
		t.Run(target.name, func(t *testing.T) {
			s := connect(t, target)
			table, err := create[sqltypes.Null](s, nullKind.column)
			if err != nil {
				t.Fatal(err)
			}
			if err := insert(s, table, 0, sqltypes.Null{}); err != nil {
				t.Fatal(err)
			}
			var rows []model[sqltypes.Null]
			if err := s.gorm.Table(table).Find(&rows).Error; err != nil || len(rows) != 1 || rows[0].V.Valid {
				t.Errorf("read %v, %v, want NULL", rows, err)
			}
			var pointer *snowflake.ID
			if err := read(s, &pointer, table, 0); err != nil || pointer != nil {
				t.Errorf("read %v, %v, want a nil pointer", pointer, err)
			}
			// The note describes other packages: if GORM changes this, remove the note.
			other := sql.NullInt64{Int64: oldID, Valid: true}
			if err := read(s, &other, table, 0); err != nil || !other.Valid {
				t.Errorf("a used sql.NullInt64 is %v, %v: GORM does not leave it alone any more", other, err)
			}
		})
	}
}
