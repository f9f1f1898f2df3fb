package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestAPartialUniqueIndexIsFollowedWithItsCondition(t *testing.T) {
	type document struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		Code      string       `gorm:"size:20"`
		Name      string
		DeletedAt gorm.DeletedAt
	}
	live := byCode
	live.TargetWhere = clause.Where{Exprs: []clause.Expression{
		clause.Expr{SQL: "deleted_at IS NULL OR deleted_at IS NULL"}, clause.Eq{Column: "deleted_at", Value: nil},
	}}
	each(t, func(t *testing.T, db *env) {
		if db.mysql {
			skip.Inapplicable(t, "MariaDB has no partial indexes")
		}
		must(t, db.Exec("CREATE UNIQUE INDEX live ON documents(code) "+
			"WHERE (deleted_at IS NULL OR deleted_at IS NULL) AND deleted_at IS NULL"))
		gone := gorm.DeletedAt{Valid: true}
		must(t, db.Create(&[]document{
			{ID: 1, Code: "a", DeletedAt: gone}, {ID: 2, Code: "a"}, {ID: 3, Code: "a", DeletedAt: gone},
		}))
		maps := []map[string]any{{"code": "a", "name": "map"}}
		must(t, db.Model(&document{}).Clauses(live).Create(&maps))
		equal(t, "key of the map", maps[0]["id"], any(snowflake.ID(2)))
		excluded := live
		excluded.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "documents.name <> excluded.name"}}}
		d := document{Code: "a", Name: "map"}
		must(t, db.Clauses(excluded).Create(&d))
		equal(t, "key of a row that is left as it is", d.ID, 2)
	}, &document{})
}

func TestATargetThatTheDatabaseFillsIsNotComparedWithAZero(t *testing.T) {
	type job struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Code  string       `gorm:"uniqueIndex:u;size:20"`
		State string       `gorm:"uniqueIndex:u;size:20;default:(upper('open'))"`
		Kind  int          `gorm:"uniqueIndex:u;default:0"`
		Name  string
	}
	target := clause.OnConflict{
		Columns:   []clause.Column{{Name: "code"}, {Name: "state"}, {Name: "kind"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&job{ID: 4, Code: "a"}))
		must(t, db.Create(&job{ID: 6, Code: "b", State: "DONE"}))
		must(t, db.Exec("INSERT INTO jobs (id, code, state, kind, name) VALUES (5, 'a', '', 0, 'trap')"))
		if db.target.Name == "sqlite" {
			skip.Inapplicable(t, "SQLite knows no DEFAULT among values, which GORM writes for the records without a state")
		}
		jobs := []job{{Code: "a", Name: "new"}, {Code: "b", State: "DONE", Name: "new"}, {Code: "c", Name: "new"}}
		must(t, db.Clauses(target).Create(&jobs))
		equal(t, "updated rows", db.count(t, "jobs", "id IN (4, 6) AND name = 'new'"), 2)
		want := snowflake.ID(4)
		if db.mysql && !db.returning() {
			want = 0 // unknown: only the database knows the state
		}
		equal(t, "key of the record without a state", jobs[0].ID, want)
		equal(t, "key of the record with a state", jobs[1].ID, 6)
		equal(t, "row of the new one", db.count(t, "jobs", "id = ? AND code = 'c'", jobs[2].ID), 1)
	}, &job{})
}

func TestARowThatTheTransactionsSnapshotLacksIsFound(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		if !db.mysql {
			skip.Inapplicable(t, "the snapshot of REPEATABLE READ, which is MySQL's default")
		}
		begin := func() *gorm.DB {
			tx := db.Begin()
			must(t, tx.Find(&[]city{})) // the snapshot is of now
			return tx
		}
		tx := begin()
		key := withBerlin(t, db)
		cities := []city{{Code: "BER", Name: "Berlin"}, {Code: "PAR"}} // changes nothing in Berlin
		must(t, tx.Clauses(byCode).Create(&cities))
		equal(t, "key", cities[0].ID, key)
		must(t, tx.Rollback()) // it has locked gaps of the index

		tx = begin()
		defer tx.Rollback()
		other := city{Code: "ROM", Name: "Rome"}
		must(t, db.Create(&other))
		saved := []city{{ID: other.ID, Code: "ROM", Name: "Rome", Streets: []street{{Name: "Via"}}}, {Code: "OSL"}}
		must(t, tx.Save(&saved)) // by the key, with nothing changed in the row
		equal(t, "reference", saved[0].Streets[0].CityID, other.ID)
	}, &city{}, &street{})
}

func TestAConstraintAsTheTargetWorksWithReturning(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		if db.target.Name != "postgres" {
			skip.Inapplicable(t, "ON CONFLICT ON CONSTRAINT is PostgreSQL's")
		}
		key := withBerlin(t, db)
		must(t, db.Exec("ALTER TABLE cities ADD CONSTRAINT one_code UNIQUE (code)"))
		// GORM prefers the constraint to columns and UpdateAll; the plugin must not go by them.
		constraint := clause.OnConflict{
			OnConstraint: "one_code", Columns: []clause.Column{{Name: "name"}}, DoUpdates: byCode.DoUpdates,
		}
		c := city{Code: "BER", Name: "Stadt"}
		must(t, db.Clauses(constraint).Create(&c))
		equal(t, "key", c.ID, key)
		constraint.Columns = []clause.Column{{Name: "id"}}
		cities := []city{{Code: "PAR"}, {Code: "BER", Name: "again"}}
		must(t, db.Clauses(constraint).Create(&cities))
		equal(t, "key in a batch", cities[1].ID, key)

		constraint.Columns = []clause.Column{{Name: "name"}}
		must(t, db.Create(&city{ID: 50, Code: "TWN", Name: "Twin"}))
		maps := []map[string]any{{"code": "BER", "name": "Twin"}}
		must(t, db.Model(&city{}).Clauses(constraint).Create(&maps))
		if id, there := maps[0]["id"]; there {
			t.Errorf("the key %v was found by columns that are not the target", id)
		}
	}, &city{}, &street{})
}

func TestKeysAreLookedUpInTheTableOfTheStatement(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	pool, err := db.DB.DB()
	noError(t, err)
	pool.SetMaxOpenConns(1) // what is attached belongs to a connection
	must(t, db.Exec("ATTACH DATABASE ':memory:' AS archive"))
	must(t, db.Exec("CREATE TABLE archive.cities (id integer PRIMARY KEY, code text UNIQUE, name text)"))
	withBerlin(t, db)
	must(t, db.Exec("INSERT INTO archive.cities VALUES (99, 'BER', 'Berlin')"))
	maps := []map[string]any{{"code": "BER", "name": "Stadt"}, {"code": "PAR", "name": "Paris"}}
	must(t, db.Model(&city{}).Table("archive.cities").Clauses(byCode).Create(&maps))
	equal(t, "key", maps[0]["id"], any(snowflake.ID(99)))
}

// refusing is a pool that inserts, and whose queries fail.
type refusing struct{ gorm.ConnPool }

var errRefused = errors.New("no queries here")

func (r refusing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SELECT") {
		return nil, errRefused
	}
	return r.ConnPool.QueryContext(ctx, query, args...)
}

func TestTheErrorOfALookupIsThatOfTheCreate(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		noError(t, db.Create(&renamed{Email: "a"}).Error)
		tx := db.Session(&gorm.Session{SkipDefaultTransaction: true}).Omit("Public").Clauses(clause.OnConflict{DoNothing: true})
		tx.Statement.ConnPool = refusing{tx.Statement.ConnPool}
		rows := []renamed{{Email: "a"}, {Email: "b"}}
		if err := tx.Create(&rows).Error; !errors.Is(err, errRefused) {
			t.Errorf("error %v, want %v", err, errRefused)
		}
	}, &renamed{})
}
