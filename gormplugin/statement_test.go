package gormplugin_test

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// A record that kept its key would be updated by Save.
func TestADryRunTakesItsKeysBack(t *testing.T) {
	type log struct {
		ID   snowflake.ID
		Root int64
		Size int `gorm:"->"`
	}
	type entry struct {
		ID   snowflake.ID
		Root int64
	}

	each(t, func(t *testing.T, db *env) {
		records := func() []person {
			boss := &person{Name: "bob", Company: &company{Name: "acme"}}
			return []person{
				{
					Name: "ada", Company: &company{Name: "ltd"}, Manager: boss, Passport: passport{Number: "1"},
					Pets: []*pet{{Name: "cat", Toys: []toy{{Name: "ball"}}}}, Tags: []tag{{Name: "red"}},
				},
				{ID: 5, Name: "eve", Company: &company{ID: 6}, Pets: []*pet{{ID: 7}}, Manager: boss},
			}
		}

		dry, want := records(), records()
		wantText(t, db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&dry) }), firstID.String())

		companyID := snowflake.ID(6) // references to keys that were set stay, as GORM sets them
		want[1].CompanyID, want[1].Pets[0].PersonID, want[0].Pets[0].Toys[0].OwnerType = &companyID, 5, "pets"
		equal(t, "records after a dry run", inJSON(t, dry), inJSON(t, want))

		must(t, db.Save(&dry))
		db.wantNoOrphans(t)

		m, other, short := map[string]any{"root": 3}, entry{Root: 4}, []struct{ ID snowflake.ID }{{}}
		create(t, db.DryRun().Model(&log{}), m, &other)
		must(t, db.DryRun().Model(&log{}).Omit("Root").Create(&short))
		must(t, db.DryRun().Model(&log{}).Select("ID").Create(&short[0]))
		equal(t, "map", fmt.Sprint(m), "map[root:3]")
		equal(t, "record of another type", other, entry{Root: 4})
		equal(t, "key of a record without the fields that are not written", short[0].ID, 0)
	}, people()...)
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	noError(t, err)
	return string(text)
}

// GORM writes to the relations of child when it parses parent, partly without a lock. The race detector sees if the
// plan of child reads those parts. Nothing here may order the two goroutines: no transaction, and no create of a
// parent.
func TestModelsMayBeParsedWhileOthersAreCreated(t *testing.T) {
	db := onSQLite(t)
	tx := db.Session(&gorm.Session{DryRun: true, SkipDefaultTransaction: true, NewDB: true})

	var wg sync.WaitGroup
	wg.Go(func() { wantError(t, (&gorm.Statement{DB: tx}).Parse(&parent{}), nil) })
	wg.Go(func() {
		time.Sleep(20 * time.Millisecond)
		wantError(t, tx.Create(&child{Name: "c"}).Error, nil)
	})

	wg.Wait()
}

func TestTheGenericsAPIIsFilledAsWell(t *testing.T) {
	db := onSQLite(t, &user{})
	u, v, many := user{Name: "a"}, user{Name: "e"}, named("b", "c", "d")

	noError(t, gorm.G[user](db.DB).Create(t.Context(), &u))
	noError(t, gorm.G[user](db.DB).CreateInBatches(t.Context(), &many, 2))
	noError(t, gorm.G[user](db.Select("Name")).Create(t.Context(), &v))
	noError(t, gorm.G[user](db.DB).Table("users").Create(t.Context(), &user{Name: "f"}))

	result := gorm.WithResult()
	noError(t, gorm.G[user](db.DB, result).Create(t.Context(), &user{Name: "g"}))
	equal(t, "rows of WithResult", result.RowsAffected, 1)

	db.wantKeys(t, "users", u.ID, many[0].ID, many[1].ID, many[2].ID, v.ID, firstID+5, firstID+6)
	wantCalls(t, db.gen, 1, 2, 1, 1, 1, 1)
}

func TestEveryWayOfRegisteringFillsOnce(t *testing.T) {
	type opener func(dialector gorm.Dialector, config *gorm.Config, plugin *gormplugin.Plugin) (*gorm.DB, error)
	for name, open := range map[string]opener{
		"Use": func(dialector gorm.Dialector, config *gorm.Config, plugin *gormplugin.Plugin) (*gorm.DB, error) {
			db, err := gorm.Open(dialector, config)
			return db, errors.Join(err, db.Use(plugin))
		},
		"Option": func(dialector gorm.Dialector, config *gorm.Config, plugin *gormplugin.Plugin) (*gorm.DB, error) {
			return gorm.Open(dialector, config, plugin)
		},
		"Config.Plugins and Option": func(
			dialector gorm.Dialector, config *gorm.Config, plugin *gormplugin.Plugin,
		) (*gorm.DB, error) {
			config.Plugins = map[string]gorm.Plugin{plugin.Name(): plugin}
			return gorm.Open(dialector, config, plugin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			gen, log := newCounting(), &recorder{}
			plugin := gormplugin.New(gen)
			db, err := open(gormdb.Dialector(testdb.SQLite(t)), &gorm.Config{Logger: log}, plugin)
			noError(t, err)
			pool, err := db.DB()
			noError(t, err)
			t.Cleanup(func() { _ = pool.Close() })

			for _, again := range []*gormplugin.Plugin{plugin, gormplugin.New(newCounting())} {
				wantError(t, db.Use(again), gorm.ErrRegistered)
			}

			noError(t, plugin.Initialize(db))
			noError(t, db.AutoMigrate(&user{}))
			must(t, db.Create(&user{Name: "a"}))
			wantCalls(t, gen, 1)
			equals(t, "GORM's warnings", log.warnings.take())
		})
	}
}

func TestAConfigurationTakesOnePluginAndItsMapStaysTheCallers(t *testing.T) {
	first, second := gormplugin.New(newCounting()), gormplugin.New(newCounting())
	callers := map[string]gorm.Plugin{}
	config := &gorm.Config{Plugins: callers}
	noError(t, first.Apply(config))
	equal(t, "plugins in the caller's map", len(callers), 0)
	wantError(t, second.Apply(config), gorm.ErrRegistered)
	equal(t, "plugin", config.Plugins["snowflake"], gorm.Plugin(first))
}

func TestAHandleWithoutCallbacksIsRefused(t *testing.T) {
	db, err := gorm.Open(nil, &gorm.Config{Logger: &recorder{}})
	noError(t, err)
	wantError(t, db.Use(gormplugin.New(newCounting())), gorm.ErrInvalidDB)
}

func TestKeysAreFilledWhateverCallbacksAreRemoved(t *testing.T) {
	for _, name := range []string{
		"gorm:begin_transaction", "gorm:before_create", "gorm:save_before_associations", "gorm:save_after_associations",
		"gorm:after_create", "gorm:commit_or_rollback_transaction",
	} {
		db := onSQLite(t, &flat{}, &city{}, &street{})
		if name == "gorm:begin_transaction" { // else the transaction would stay open
			must(t, db.Exec("SELECT 1"))
			noError(t, db.Callback().Create().Remove("gorm:commit_or_rollback_transaction"))
		}

		tx := db.Session(&gorm.Session{SkipDefaultTransaction: name == "gorm:commit_or_rollback_transaction"})
		noError(t, db.Callback().Create().Remove(name))

		create(t, tx, &[]flat{{Name: "a"}, {Name: "b"}}, &flat{Name: "c"}, &city{Code: "BER"})
		db.wantKeys(t, "flats", firstID, firstID+1, firstID+2)

		skipped := city{Code: "BER"}
		result := must(t, tx.Clauses(nothing).Create(&skipped))
		equal(t, "key of the skipped record without "+name, skipped.ID, 0)

		equal(t, "clause that is left without "+name, result.Statement.Clauses["snowflake:insert"].Expression, nil)
	}
}

// audited writes down in its hooks which key it has.
type audited struct {
	ID                        snowflake.ID `gorm:"primaryKey"`
	Name                      string
	InSave, InCreate, InAfter snowflake.ID
}

func (a *audited) BeforeSave(*gorm.DB) error   { a.InSave = a.ID; return nil }
func (a *audited) BeforeCreate(*gorm.DB) error { a.InCreate = a.ID; return nil }
func (a *audited) AfterCreate(*gorm.DB) error  { a.InAfter = a.ID; return nil }

func TestHooksSeeTheKeyWhichDoesNotNeedThem(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		records := []audited{{Name: "a"}, {Name: "b"}}
		must(t, db.Create(&records))

		for i, r := range records {
			id := firstID + snowflake.ID(i)
			equal(t, "record", r, audited{ID: id, Name: r.Name, InSave: id, InCreate: id, InAfter: id})
		}
		equal(t, "rows", db.count(t, "auditeds", "in_create = id AND in_save = id"), 2)

		r := audited{Name: "a"}
		must(t, db.Session(&gorm.Session{SkipHooks: true}).Create(&r))
		equal(t, "record without hooks", r, audited{ID: firstID + 2, Name: "a"})

		// Save of an unknown key inserts with SkipHooks; so do its associations.
		saved := parent{ID: 8, Name: "saved", Children: []child{{Name: "d"}}}
		must(t, db.Save(&saved))
		db.wantKeys(t, "parents", 8)
		db.wantKeys(t, "children", firstID+3)
	}, &audited{}, &parent{}, &child{})
}

type forgetful struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string       `gorm:"uniqueIndex"`
}

func (f *forgetful) BeforeCreate(*gorm.DB) error {
	switch f.Name {
	case "b":
		f.ID = 0
	case "own":
		f.ID = 5000
	}
	return nil
}

func TestAHookThatTakesTheKeyAwayGetsAnother(t *testing.T) {
	db := onSQLite(t, &forgetful{})
	f := []forgetful{{Name: "a"}, {Name: "b"}}
	must(t, db.Create(&f))
	wantCalls(t, db.gen, 2, 1)
	db.wantKeys(t, "forgetfuls", f[0].ID, f[1].ID)

	again := []forgetful{{Name: "c"}, {Name: "b"}}
	wantFailure(t, "a second b", db.Create(&again).Error)
	wantIDs(t, again, 0, 0)
}

func TestAHookThatTakesOneKeyAwayMayReplaceAnother(t *testing.T) {
	db := onSQLite(t, &forgetful{})
	f := []*forgetful{{Name: "own"}, {Name: "b"}, {Name: "c"}}
	must(t, db.Create(&f))
	wantCalls(t, db.gen, 3, 1)
	db.wantKeys(t, "forgetfuls", 5000, firstID+2, firstID+3)
}

// selective selects in its hook what is written.
type selective struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Name   string
	Secret string
}

func (*selective) BeforeCreate(tx *gorm.DB) error {
	tx.Statement.Selects = []string{"Name"}
	return nil
}

func TestASelectionThatAHookMakesStillWritesTheKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		s := selective{Name: "n", Secret: "s"}
		must(t, db.Create(&s))
		equal(t, "rows", db.count(t, "selectives", "id = ? AND name = 'n' AND secret IS NULL", s.ID), 1)

		many := []selective{{Name: "a"}, {Name: "b"}}
		tx := db.Select("Secret")
		must(t, tx.Create(&many))
		db.wantKeys(t, "selectives", s.ID, many[0].ID, many[1].ID)
		equal(t, "columns afterwards", len(tx.Statement.Selects), 1)
	}, &selective{})
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
		must(t, db.Create(&renamed{Email: "a", Name: "1"}))
		record, row := renamed{Email: "a", Name: "22"}, renamed{}
		must(t, db.Clauses(by("email", "name")).Create(&record))
		must(t, db.Take(&row, "email = 'a'"))
		equal(t, "record", record, row)
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
