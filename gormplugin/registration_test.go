package gormplugin_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

func TestEveryWayOfRegisteringFillsOnce(t *testing.T) {
	type plugins = map[string]gorm.Plugin
	for name, way := range map[string]func(d gorm.Dialector, p *gormplugin.Plugin, config *gorm.Config) (*gorm.DB, error){
		"Use": func(d gorm.Dialector, p *gormplugin.Plugin, config *gorm.Config) (*gorm.DB, error) {
			db, err := gorm.Open(d, config)
			return db, errors.Join(err, db.Use(p))
		},
		"Option": func(d gorm.Dialector, p *gormplugin.Plugin, config *gorm.Config) (*gorm.DB, error) {
			return gorm.Open(d, p, config)
		},
		"Config.Plugins and Option": func(d gorm.Dialector, p *gormplugin.Plugin, config *gorm.Config) (*gorm.DB, error) {
			config.Plugins = plugins{p.Name(): p}
			return gorm.Open(d, config, p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			gen, log := newCounting(), &recorder{}
			plugin := gormplugin.New(gen)
			db, err := way(gormdb.Dialector(testdb.SQLite(t)), plugin, &gorm.Config{Logger: log})
			noError(t, err)
			closeAtEnd(t, db)
			for _, again := range []*gormplugin.Plugin{plugin, gormplugin.New(newCounting())} {
				wantError(t, db.Use(again), gorm.ErrRegistered)
			}
			noError(t, plugin.Initialize(db))
			noError(t, db.AutoMigrate(&user{}))
			must(t, db.Create(&user{Name: "a"}))
			wantCalls(t, gen, 1)
			if len(log.warnings) > 0 {
				t.Errorf("GORM warns: %v", log.warnings)
			}
		})
	}
}

func TestASecondPluginInTheConfigurationIsRefused(t *testing.T) {
	first, second := gormplugin.New(newCounting()), gormplugin.New(newCounting())
	config := &gorm.Config{Plugins: map[string]gorm.Plugin{first.Name(): first}}
	wantError(t, second.Apply(config), gorm.ErrRegistered)
	if config.Plugins["snowflake"] != gorm.Plugin(first) {
		t.Error("the first plugin was replaced")
	}
}

func TestTheConfigurationsMapStaysTheCallers(t *testing.T) {
	shared := gorm.Config{Logger: &recorder{}, Plugins: map[string]gorm.Plugin{}}
	for range 2 {
		config := shared
		db, err := gorm.Open(gormdb.Dialector(testdb.SQLite(t)), &config, gormplugin.New(newCounting()))
		noError(t, err)
		closeAtEnd(t, db)
	}
	equal(t, "plugins in the caller's map", len(shared.Plugins), 0)
}

func TestANilGeneratorIsAnErrorAtRegistration(t *testing.T) {
	var typed *counting
	for name, plugin := range map[string]*gormplugin.Plugin{
		"nil": gormplugin.New(nil), "typed nil": gormplugin.New(typed), "nil plugin": nil,
	} {
		db, _ := openWith(t, testdb.SQLite(t), nil)
		wantError(t, db.Use(plugin), gormplugin.ErrOption)
		if _, there := db.Plugins["snowflake"]; there {
			t.Errorf("%s: the plugin is registered all the same", name)
		}
	}
}

func TestAHandleWithoutCallbacksIsRefused(t *testing.T) {
	db, err := gorm.Open(nil, &gorm.Config{Logger: &recorder{}})
	noError(t, err)
	wantError(t, db.Use(gormplugin.New(newCounting())), gorm.ErrInvalidDB)
}

func closeAtEnd(t testing.TB, db *gorm.DB) {
	t.Helper()
	t.Cleanup(func() {
		pool, err := db.DB()
		if err == nil {
			err = pool.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
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
		must(t, tx.Create(&[]flat{{Name: "a"}, {Name: "b"}}))
		must(t, tx.Create(&flat{Name: "c"}))
		db.wantKeys(t, "flats", firstID, firstID+1, firstID+2)
		must(t, tx.Create(&city{Code: "BER"}))
		skipped := city{Code: "BER"}
		result := must(t, tx.Clauses(nothing).Create(&skipped))
		equal(t, "key of the skipped record without "+name, skipped.ID, 0)
		if _, left := result.Statement.Clauses["snowflake:insert"]; left {
			t.Errorf("without %s the plugin leaves its own clause in the statement", name)
		}
	}
}
