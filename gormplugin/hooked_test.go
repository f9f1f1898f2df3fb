package gormplugin_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// swapped is a record whose hook gives its key to the record before.
type swapped struct {
	ID    snowflake.ID `gorm:"primaryKey"`
	Old   snowflake.ID
	Email string `gorm:"uniqueIndex;size:50"`
	Rank  int
}

var errRank = errors.New("no such rank")

func (s *swapped) BeforeCreate(tx *gorm.DB) error {
	if v := tx.Statement.ReflectValue; v.Len() == 1 {
		s.Old, s.ID = s.ID, 77
	} else if first := v.Index(0).Addr().Interface().(*swapped); s != first {
		first.ID, s.ID = s.ID, first.ID
	}
	return nil
}

func (s *swapped) AfterCreate(*gorm.DB) error {
	if s.Rank == 9 {
		return errRank
	}
	return nil
}

func TestGeneratedKeysThatAHookMovesAreTakenBack(t *testing.T) {
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"rank"})}
	each(t, func(t *testing.T, db *env) {
		for _, dry := range []bool{false, true} {
			for _, rows := range [][]swapped{{{Email: "a"}, {Email: "b", Rank: 9}}, {{Email: "a", Rank: 9}}} {
				err := db.Session(&gorm.Session{DryRun: dry}).Clauses(upsert).Create(&rows).Error
				if !dry && !errors.Is(err, errRank) {
					t.Fatal(err)
				}
				for _, row := range rows {
					if row.ID != 0 && row.ID != 77 || dry && row.Old != 0 {
						t.Errorf("dry run %t leaves %+v", dry, row)
					}
				}
			}
		}
	}, &swapped{})
}

// renamed has a generated public ID, which its hook replaces if it has a name of two letters.
type renamed struct {
	ID     snowflake.ID `gorm:"primaryKey"`
	Public snowflake.ID `gorm:"snowflake;uniqueIndex"`
	Email  string       `gorm:"uniqueIndex;size:50"`
	Name   string
}

func (r *renamed) BeforeCreate(*gorm.DB) error {
	if len(r.Name) == 2 {
		r.Public = 5000
	}
	return nil
}

func TestAGeneratedColumnThatAHookReplacesFollowsTheRow(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		noError(t, db.Create(&renamed{Email: "a", Name: "1"}).Error)
		upsert := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		record, row := renamed{Email: "a", Name: "22"}, renamed{}
		noError(t, db.Clauses(upsert).Create(&record).Error)
		noError(t, db.Take(&row, "email = 'a'").Error)
		if record != row {
			t.Errorf("the record is %v, the row %v", record, row)
		}
	}, &renamed{})
}

func TestAnUpsertDoesNotNameTheGeneratedColumnsThatItLeavesAlone(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		switch db.Name() {
		case "postgres":
			noError(t, db.Exec(`CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'fixed'; END $$`).Error)
			noError(t, db.Exec(`CREATE TRIGGER fixed BEFORE UPDATE OF public ON renameds FOR EACH ROW EXECUTE FUNCTION no()`).Error)
		case "sqlite":
			noError(t, db.Exec(`CREATE TRIGGER fixed BEFORE UPDATE OF public ON renameds BEGIN SELECT RAISE(ABORT, 'fixed'); END`).Error)
		}
		for _, name := range []string{"1", "2"} {
			noError(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, UpdateAll: true}).
				Create(&renamed{Email: "a", Name: name}).Error)
		}
	}, &renamed{})
}

// unsigned is a Valuer of a type that some drivers accept and database/sql does not know.
type unsigned uint64

func (u unsigned) Value() (driver.Value, error) { return uint64(u), nil }

// pointed is a Valuer by pointer.
type pointed struct{ n int64 }

func (c *pointed) Value() (driver.Value, error) { return c.n, nil }

func TestAMapsZeroOfAnyTypeIsFilled(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		for name, zero := range map[string]any{"uint64": unsigned(0), "nil": (*pointed)(nil), "pointer": &pointed{}} {
			noError(t, db.Model(&renamed{}).Create(map[string]any{"id": zero, "email": name, "name": name}).Error)
			var row renamed
			noError(t, db.Take(&row, "email = ?", name).Error)
			if row.ID == 0 {
				t.Errorf("%s: the row has the key 0", name)
			}
		}
	}, &renamed{})
}

// worded is a key whose driver value is text.
type worded struct{ id snowflake.ID }

func (w worded) SnowflakeID() snowflake.ID       { return w.id }
func (w *worded) SetSnowflakeID(id snowflake.ID) { w.id = id }
func (worded) GormDataType() string              { return "bigint" }
func (w worded) Value() (driver.Value, error)    { return w.id.String(), nil }
func (w *worded) Scan(v any) (err error) {
	w.id, err = snowflake.Parse(fmt.Sprint(v))
	return err
}

type spoken struct {
	ID worded `gorm:"primaryKey"`
}

type distant struct {
	gormplugin.Model
	Past **int64
}

func TestPointersToPointersAreNoKeys(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		n := new(int64)
		_ = db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&distant{Past: &n}) })
	}, &distant{})
}

func TestEachReadsKeysOfAnyType(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		noError(t, db.Create([]*spoken{{}, {}, {}}).Error)
		for name, query := range map[string]*gorm.DB{"model": db.DB, "raw": db.Raw("SELECT * FROM spokens ORDER BY id")} {
			found := 0
			for _, err := range gormplugin.Each[spoken](t.Context(), query, gormplugin.Page{Limit: 2}) {
				noError(t, err)
				found++
			}
			if found != 3 {
				t.Errorf("%s: %d of 3 rows", name, found)
			}
		}
	}, &spoken{})
}
