package sqltypes_test

import (
	"cmp"
	"database/sql"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestStoredTypesCompareAsIDs(t *testing.T) {
	ids := []snowflake.ID{-5, 0, 1, 1 << 40}
	for _, a := range ids {
		for _, b := range ids {
			want := cmp.Compare(a, b)
			for name, got := range map[string]int{
				"Text":   sqltypes.Text(a).Compare(sqltypes.Text(b)),
				"Binary": sqltypes.Binary(a).Compare(sqltypes.Binary(b)),
				"UUID":   sqltypes.UUID(a).Compare(sqltypes.UUID(b)),
			} {
				if got != want {
					t.Errorf("%s: Compare of %d and %d = %d, want %d", name, a, b, got, want)
				}
			}
		}
	}
}

// What the documentation says of sql.Null: it keeps no ID of an earlier row, but Valid is true after an error.
func TestSQLNullOfStoredTypes(t *testing.T) {
	t.Run("Text", testSQLNull[sqltypes.Text])
	t.Run("Binary", testSQLNull[sqltypes.Binary])
	t.Run("UUID", testSQLNull[sqltypes.UUID])
}

func testSQLNull[T storedValue, P storedPointer[T]](t *testing.T) {
	value, err := T(7).Value()
	if err != nil {
		t.Fatal(err)
	}
	n := sql.Null[T]{V: 42, Valid: true}
	if err := n.Scan(value); err != nil || n != (sql.Null[T]{V: 7, Valid: true}) {
		t.Errorf("Scan of a value: %+v, %v", n, err)
	}
	if back, err := n.Value(); err != nil || toString(back) != toString(value) {
		t.Errorf("Value = %v, %v, want %v", back, err, value)
	}
	if err := n.Scan("bad"); !errors.Is(err, snowflake.ErrSyntax) || n != (sql.Null[T]{V: 0, Valid: true}) {
		t.Errorf("after an error: %+v, %v", n, err)
	}
	if err := n.Scan(nil); err != nil || n != (sql.Null[T]{}) {
		t.Errorf("Scan of NULL: %+v, %v", n, err)
	}
	if back, err := n.Value(); err != nil || back != nil {
		t.Errorf("Value of NULL = %v, %v", back, err)
	}
}

// What the documentation says of GORM: it reads NULL without Scan, so there is no error, and not into all fields.
func TestGORMReadsNULLAsZeroIntoStoredTypes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		type row struct {
			Text     sqltypes.Text
			Binary   sqltypes.Binary
			UUID     sqltypes.UUID
			TextPtr  *sqltypes.Text
			UUIDNull sql.Null[sqltypes.UUID]
		}
		stale := sqltypes.Text(4)
		used, fresh := row{1, 2, 3, &stale, sql.Null[sqltypes.UUID]{V: 5, Valid: true}}, row{}
		want := row{0, 0, 0, &stale, used.UUIDNull}
		db := openArrayGORM(t, target)
		nulls := db.Table("(SELECT NULL AS text, NULL AS " + db.Statement.Quote("binary") +
			", NULL AS uuid, NULL AS text_ptr, NULL AS uuid_null) AS nulls").Session(&gorm.Session{})
		if err := nulls.Take(&used).Error; err != nil || used != want {
			t.Errorf("a used struct is %+v, %v, want %+v", used, err, want)
		}
		if err := nulls.Take(&fresh).Error; err != nil || fresh != (row{}) {
			t.Errorf("a new struct is %+v, %v, want zero values", fresh, err)
		}
	})
}
