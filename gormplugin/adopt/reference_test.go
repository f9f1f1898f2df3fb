package adopt_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

type (
	shopParty struct {
		UserID uint
		User   *shopUser `gorm:"constraint:-"`
	}
	shopLetter struct {
		ID   uint
		From shopParty `gorm:"embedded;embeddedPrefix:from_"`
		To   shopParty `gorm:"embedded;embeddedPrefix:to_"`
	}
)

func TestRekeyRewritesAllReferencesOfAModelAndNothingElse(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		must(t, db.AutoMigrate(&shopLetter{}))
		must(t, db.Create(&shopLetter{From: shopParty{UserID: 3}, To: shopParty{UserID: 9}}).Error)
		changed := "timestamp NOT NULL DEFAULT '2025-06-01 12:00:00'"
		parcels := "CREATE TABLE shop_parcels (order_id bigint REFERENCES shop_orders)" // not to its user_id
		if target.Name == "mariadb" {
			changed += " ON UPDATE CURRENT_TIMESTAMP"
			parcels = "CREATE TABLE shop_parcels (order_id bigint unsigned, FOREIGN KEY (order_id) REFERENCES shop_orders (id))"
		}
		db.exec(t, "ALTER TABLE shop_logs ADD COLUMN changed_at "+changed, parcels, "INSERT INTO shop_parcels VALUES (3)")
		number := keyType(target)
		folded := 1
		if target.Name == "mariadb" {
			must(t, db.Raw("SELECT @@lower_case_table_names").Row().Scan(&folded))
		}
		if folded == 0 {
			db.exec(t, "CREATE TABLE Shop_Users LIKE shop_users", // another table
				"CREATE TABLE shop_guests (user_id "+number+", FOREIGN KEY (user_id) REFERENCES Shop_Users (id))",
				"INSERT INTO Shop_Users SELECT * FROM shop_users WHERE id = 3", "INSERT INTO shop_guests VALUES (3)")
			defer func() { equal(t, "guests", db.count(t, "shop_guests", "user_id = 3"), 1) }()
		}
		server := "SQLite"
		if target.Name != "sqlite" {
			must(t, db.Raw("SELECT version()").Row().Scan(&server))
		}
		if strings.Contains(server, "MariaDB") { // whose dictionary compares the names of foreign keys without accents
			for table, column := range map[string]string{"shop_cafe": "user_id", "shop_café": "owner_id"} {
				db.exec(t, "CREATE TABLE "+table+" (user_id "+number+", owner_id "+number+", FOREIGN KEY ("+column+") REFERENCES shop_users (id))",
					"INSERT INTO "+table+" VALUES (3, 3)")
				defer func() { equal(t, table, db.count(t, table, "LEAST(user_id, owner_id) = 3 AND "+column+" > 3"), 1) }()
			}
		}
		other := "other_orders" // in another schema where there are any
		if target.Name == "postgres" {
			space := db.schema(t) + "_other"
			other = space + ".shop_orders"
			db.exec(t, "CREATE SCHEMA "+space)
			t.Cleanup(func() { must(t, db.Exec("DROP SCHEMA "+space+" CASCADE").Error) })
		}
		db.exec(t,
			"CREATE TABLE shop_halls (hall bigint, user_id "+number+", UNIQUE (hall, user_id), FOREIGN KEY (user_id) REFERENCES shop_users (id))",
			"CREATE TABLE "+other+" (hall bigint, user_id "+number+
				", FOREIGN KEY (hall, user_id) REFERENCES shop_halls (hall, user_id) ON UPDATE CASCADE)",
			"INSERT INTO shop_halls VALUES (3, 3), (4, 3)", "INSERT INTO "+other+" VALUES (4, 3), (NULL, 9)")
		before := db.rows(t, "(SELECT changed_at FROM shop_logs) AS q")
		_, err := adopt.Rekey(db.DB, adopt.Rekeying{
			Models: []any{&shopUser{}}, Referring: []any{&shopLetter{}}, Worker: 1023,
		})
		must(t, err)
		equal(t, "letters", db.count(t, "shop_letters", "from_user_id > ? AND to_user_id > from_user_id", minID), 1)
		equal(t, "seats", db.count(t, other+" AS o JOIN shop_halls h ON h.hall = o.hall AND h.user_id = o.user_id AND o.hall = 4",
			"h.user_id = (SELECT new_key FROM shop_users_old_keys WHERE old_key = 3)"), 1)
		equal(t, "parcels", db.count(t, "shop_parcels", "order_id = 3"), 1)
		equal(t, "times of changes", db.rows(t, "(SELECT changed_at FROM shop_logs) AS q"), before)
	})
}

func TestRekeyKnowsATableByBothOfItsNames(t *testing.T) {
	type shopProfile struct {
		ID        uint
		CreatedAt time.Time
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		number := keyType(target)
		db.exec(t, "CREATE TABLE shop_profiles (id "+number+" PRIMARY KEY, created_at timestamp, FOREIGN KEY (id) REFERENCES shop_users (id))")
		must(t, db.Create(&shopProfile{ID: 3}).Error)
		handle, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{
			Logger: logger.Discard, NamingStrategy: schema.NamingStrategy{TablePrefix: db.schema(t) + "."},
		})
		must(t, err)
		pool := must2(handle.DB())(t)
		t.Cleanup(func() { _ = pool.Close() })
		(&env{DB: handle}).fill(t)
		what := rekeying()
		what.Models = append(what.Models, &shopProfile{})
		_, err = adopt.Rekey(handle, what)
		wantError(t, err, adopt.ErrKeysKept, "shop_profiles.id")
		_, err = adopt.Rekey(db.DB, what)
		wantError(t, err, adopt.ErrKeysKept, "shop_profiles.id")
		done, err := adopt.Rekey(handle, rekeying())
		must(t, err)
		equal(t, "rows", done.Rows, 60)
	})
}

func TestRekeyAsksForALargerMinID(t *testing.T) {
	db := plain(t, testdb.SQLite(t), &shopUser{}, &shopOrder{})
	db.exec(t, "INSERT INTO shop_users (id, created_at) VALUES (4, '2025-06-01 12:00:00'), (9, '2025-06-01 12:00:00')")
	must(t, db.Use(gormplugin.New(must2(snowflake.New(5))(t), gormplugin.WithMinID(5), gormplugin.WithIntegerKeys())))
	_, err := adopt.Rekey(db.DB, adopt.Rekeying{Models: []any{&shopUser{}}, Worker: 1023})
	wantError(t, err, adopt.ErrKeysKept, "WithMinID(10)")
	equal(t, "rows", db.count(t, "shop_users", "id IN (4, 9)"), 2)
}

func TestRekeyFindsPolymorphicReferencesWhoseValueHasABackslash(t *testing.T) {
	type shopPhoto struct {
		ID        uint
		OwnerID   uint
		OwnerType string
	}
	type shopArtist struct {
		ID        uint
		CreatedAt time.Time
		Photos    []shopPhoto `gorm:"polymorphic:Owner;polymorphicValue:App\\Artist's"`
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "postgres" { // where a backslash then means what follows it
			target.DSN += "&standard_conforming_strings=off"
		}
		db := plain(t, target, &shopArtist{}, &shopPhoto{})
		must(t, db.Create(&shopArtist{CreatedAt: time.Now().Add(-time.Hour), Photos: make([]shopPhoto, 2)}).Error)
		db.fill(t)
		_, err := adopt.Rekey(db.DB, adopt.Rekeying{Models: []any{&shopArtist{}}, Worker: 1023})
		must(t, err)
		equal(t, "photos of the artist", db.count(t, "shop_photos", "owner_id = (SELECT id FROM shop_artists)"), 2)
	})
}

// fillOnly is a generator that does not tell its layout.
type fillOnly struct{ gormplugin.Generator }

func TestRekeyMakesTheKeysOfTheGeneratorThatFillsTheColumn(t *testing.T) {
	type oldEvent struct {
		ID        uint
		CreatedAt time.Time
	}
	type event struct {
		ID        snowflake.ID
		CreatedAt time.Time
	}
	type wideEvent struct {
		ID        snowflake.ID `gorm:"snowflake:wide"`
		CreatedAt time.Time
	}
	generator := func(worker int64, layout string) gormplugin.Generator {
		return must2(snowflake.New(worker, snowflake.WithLayout(must2(snowflake.ParseLayout(layout))(t))))(t)
	}
	named := gormplugin.WithNamed("wide", generator(3, "epoch=2010-01-01T00:00:00Z tick=1ms time:43 worker:6 sequence:12"))
	least := gormplugin.WithMinID(minID)
	for name, test := range map[string]struct {
		plugin *gormplugin.Plugin // nil for one with a lease
		model  any
		worker int64
		want   error
		text   string
	}{
		"of the lease":     {nil, &event{}, 1023, nil, ""},
		"beside the lease": {nil, &wideEvent{}, 63, nil, ""},
		"another layout":   {gormplugin.New(generator(5, "twitter"), least), &event{}, 31, nil, ""},
		"another worker":   {gormplugin.New(generator(5, "default"), least, named), &event{}, 3, nil, ""},
		"the same worker":  {gormplugin.New(generator(5, "default"), least, named), &event{}, 5, adopt.ErrKeysKept, "has the worker 5"},
		"the named one's":  {gormplugin.New(generator(5, "default"), least, named), &wideEvent{}, 3, adopt.ErrKeysKept, "has the worker 3"},
		"the leased one":   {nil, &event{}, 0, adopt.ErrKeysKept, "has the worker 0"},
		"the old model":    {gormplugin.New(generator(5, "default"), least), &oldEvent{}, 1023, adopt.ErrKeysKept, "the plugin has to fill"},
		"without a layout": {gormplugin.New(fillOnly{generator(5, "default")}, least), &event{}, 1023, adopt.ErrKeysKept, "fillOnly"},
		"too large":        {nil, &wideEvent{}, 64, snowflake.ErrFieldRange, ""},
		"no such name":     {gormplugin.New(generator(5, "default"), least), &wideEvent{}, 63, gormplugin.ErrTag, "wide"},
	} {
		db := plain(t, testdb.SQLite(t), test.model)
		if test.plugin == nil {
			test.plugin = must2(gormplugin.Open(t.Context(), db.DB, least, named))(t)
			defer func() { must(t, test.plugin.Close(t.Context())) }()
		} else {
			must(t, db.Use(test.plugin))
		}
		tables := must2(db.Migrator().GetTables())(t)
		table := tables[slices.IndexFunc(tables, func(table string) bool { return strings.HasSuffix(table, "events") })]
		db.exec(t, "INSERT INTO "+table+" (id, created_at) VALUES (7, '2025-06-01 10:00:00')")
		done, err := adopt.Rekey(db.DB, adopt.Rekeying{Models: []any{test.model}, Worker: test.worker})
		if test.want != nil {
			wantError(t, err, test.want, test.text)
			equal(t, name+": rows", db.count(t, table, "id = 7"), 1)
			continue
		}
		must(t, err)
		equal(t, name+": new keys", done.Rows, 1)
		var n int64
		from := time.Date(2025, 6, 1, 10, 0, 0, 0, time.UTC)
		must(t, db.Model(test.model).Where(gormplugin.CreatedBetween(from, from.Add(time.Second))).Count(&n).Error)
		equal(t, name+": rows of the time", n, 1)
		if l := test.plugin.Lease(); l != nil {
			err := l.Reserve(t.Context(), test.worker, "something else")
			equal(t, name+": reserved", errors.Is(err, lease.ErrNoWorker), name == "of the lease")
		}
	}
}

// issuing is a generator whose next ID is known.
type issuing struct {
	*snowflake.Generator
	id snowflake.ID
}

func (i issuing) Fill(_ context.Context, dst []snowflake.ID) error {
	dst[0] = i.id
	return nil
}

func TestRekeyRepeatsNoIDOfTheGenerator(t *testing.T) {
	type event struct {
		ID        snowflake.ID
		CreatedAt time.Time
	}
	db := plain(t, testdb.SQLite(t), &event{})
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	gen := issuing{must2(snowflake.New(5))(t), must2(must2(snowflake.NewBackfill(5))(t).Next(at))(t)}
	must(t, db.Use(gormplugin.New(gen, gormplugin.WithMinID(minID))))
	issued := event{}
	must(t, db.Create(&issued).Error)
	must(t, db.Delete(&issued).Error)
	must(t, db.Create(&event{ID: 7, CreatedAt: at}).Error)
	for _, worker := range []int64{5, 6} {
		_, err := adopt.Rekey(db.DB, adopt.Rekeying{Models: []any{&event{}}, Worker: worker})
		equal(t, "refused", errors.Is(err, adopt.ErrKeysKept), worker == 5)
		equal(t, "issued twice", db.count(t, "events", "id = ?", issued.ID), 0)
	}
	equal(t, "old keys", db.count(t, "events", "id = 7"), 0)
}

func TestRekeyRefusesATriggerThatKeepsAReference(t *testing.T) {
	triggers := map[string][]string{
		"postgres": {
			"CREATE FUNCTION frozen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
			"CREATE TRIGGER frozen BEFORE UPDATE ON shop_invites FOR EACH ROW EXECUTE FUNCTION frozen()",
		},
		"mariadb": {"CREATE TRIGGER frozen BEFORE UPDATE ON shop_invites FOR EACH ROW SET NEW.user_id = OLD.user_id"},
		"sqlite":  {"CREATE TRIGGER frozen BEFORE UPDATE ON shop_invites BEGIN SELECT RAISE(IGNORE); END"},
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		db.exec(t, triggers[target.Name]...)
		if target.Name == "mariadb" { // in which the table of old keys must not be
			db.pool.SetMaxOpenConns(1)
			db.exec(t, "SET SESSION default_storage_engine = MyISAM")
		}
		before := db.allRows(t)
		_, err := adopt.Rekey(db.DB, rekeying())
		wantError(t, err, adopt.ErrKeysKept, "shop_invites.user_id: 20 rows still have an old key")
		equal(t, "rows", db.allRows(t), before)
		db.exec(t, "DROP TRIGGER frozen"+map[string]string{"postgres": " ON shop_invites"}[target.Name])
		done, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "rows of the next call", done.Rows, 60)
	})
}

func TestRekeyLosesNoReferenceThatTheAccountDoesNotSee(t *testing.T) {
	db := shop(t, testdb.MariaDB(t))
	other, user := db.schema(t)+"-é", db.schema(t)+"_user"
	var host string
	must(t, db.Raw("SELECT substring_index(user(), '@', -1)").Row().Scan(&host))
	account := "'" + user[len(user)-min(len(user), 32):] + "'@'" + host + "'"
	db.exec(t, "CREATE DATABASE `"+other+"`", "CREATE USER "+account, "GRANT ALL ON `"+db.schema(t)+"`.* TO "+account,
		"CREATE TABLE `"+other+"`.`ch-ild` (`us er` bigint unsigned, FOREIGN KEY (`us er`) REFERENCES `"+db.schema(t)+"`.shop_users (id) ON UPDATE SET NULL)",
		"INSERT INTO `"+other+"`.`ch-ild` VALUES (3)")
	t.Cleanup(func() {
		root := db.target.Open(t)
		_, err := root.Exec("DROP DATABASE `" + other + "`")
		must(t, err)
		_, err = root.Exec("DROP USER " + account)
		must(t, err)
	})
	config := must2(mysql.ParseDSN(db.target.DSN))(t)
	config.User, config.Passwd = strings.Split(account, "'")[1], ""
	before := db.allRows(t)
	for _, grant := range []string{"", "PROCESS ON *.*", "ALL ON `" + other + "`.*"} {
		if grant != "" {
			db.exec(t, "GRANT "+grant+" TO "+account)
		}
		limited := plain(t, testdb.Target{Name: "mariadb", Driver: "mysql", DSN: config.FormatDSN()})
		limited.fill(t)
		done, err := adopt.Rekey(limited.DB, rekeying())
		switch grant {
		case "":
			wantError(t, err, adopt.ErrKeysKept, "GRANT PROCESS ON *.*")
		case "PROCESS ON *.*":
			wantError(t, err, adopt.ErrKeysKept, other+".ch-ild")
		default:
			must(t, err)
			equal(t, "rows", done.Rows, 60)
			before = db.allRows(t)
		}
		equal(t, "rows", db.allRows(t), before)
		equal(t, "children of a user", db.count(t, "`"+other+"`.`ch-ild` c JOIN shop_users u ON u.id = c.`us er`", "true"), 1)
	}
}

// A process creates the table after Rekey has read the foreign keys.
func TestRekeyLosesNoReferenceThatIsNew(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		before, graph := db.allRows(t), db.graph(t)
		writer := target.Open(t)
		create := []string{
			"CREATE TABLE shop_late (user_id " + keyType(target) + ", FOREIGN KEY (user_id) REFERENCES shop_users (id))",
			"INSERT INTO shop_late VALUES (3)",
		}
		must(t, db.Callback().Raw().Before("*").Register("test:late", func(tx *gorm.DB) {
			if begin := tx.Statement.SQL.String(); strings.HasPrefix(begin, "BEGIN") || strings.HasPrefix(begin, "START") {
				for _, statement := range create {
					_, err := writer.Exec(statement)
					must(t, err)
				}
				create = nil
			}
		}))
		if _, err := adopt.Rekey(db.DB, rekeying()); err == nil {
			t.Error("no error")
		}
		equal(t, "rows", db.allRows(t), before)
		done, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "rows of the next call", done.Rows, 60)
		equal(t, "graph", db.graph(t), graph)
		equal(t, "late references", db.count(t, "shop_late JOIN shop_users ON id = user_id", "user_id > 0"), 1)
	})
}

// replicas is a pool whose queries go to a database that is behind, as those of dbresolver do.
type replicas struct {
	gorm.ConnPool
	behind *sql.DB
}

func (r replicas) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.behind.QueryContext(ctx, query, args...)
}

func (r replicas) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.behind.QueryRowContext(ctx, query, args...)
}

func TestRekeyReadsNoReplica(t *testing.T) {
	db := shop(t, testdb.SQLite(t))
	behind := plain(t, testdb.SQLite(t), shopModels()...)
	resolve := func(tx *gorm.DB) {
		if _, inside := tx.Statement.ConnPool.(gorm.TxCommitter); !inside {
			tx.Statement.ConnPool = replicas{tx.Statement.ConnPool, behind.pool}
		}
	}
	must(t, db.Callback().Row().Before("*").Register("test:resolve", resolve))
	must(t, db.Callback().Query().Before("*").Register("test:resolve", resolve))
	done, err := adopt.Rekey(db.DB, rekeying())
	must(t, err)
	equal(t, "rows", done.Rows, 60)
}

func TestRekeyWithDeferredTriggersAndRowsThatAreHidden(t *testing.T) {
	db := shop(t, testdb.Postgres(t))
	db.pool.SetMaxOpenConns(1)
	space := db.schema(t)
	role := space + "_owner" // of the tables; a superuser sees all rows
	t.Cleanup(func() { must(t, db.Exec("RESET ROLE; DROP OWNED BY "+role+"; DROP ROLE "+role).Error) })
	db.exec(t,
		"CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
		"CREATE CONSTRAINT TRIGGER noted AFTER UPDATE ON shop_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION noted()",
		"CREATE ROLE "+role, "GRANT ALL ON SCHEMA "+space+" TO "+role, "GRANT ALL ON ALL TABLES IN SCHEMA "+space+" TO "+role)
	for _, table := range tableNames {
		db.exec(t, "ALTER TABLE "+table+" OWNER TO "+role)
	}
	db.exec(t, "ALTER TABLE shop_invites ALTER user_id SET DEFAULT 3") // which stays
	db.exec(t, "ALTER TABLE shop_invites ENABLE ROW LEVEL SECURITY", "ALTER TABLE shop_invites FORCE ROW LEVEL SECURITY", "SET ROLE "+role)
	before := db.graph(t)
	_, err := adopt.Rekey(db.DB, rekeying())
	wantError(t, err, adopt.ErrKeysKept, "shop_invites.user_id: row-level security")
	equal(t, "graph", db.graph(t), before)
	db.exec(t, "ALTER TABLE shop_invites NO FORCE ROW LEVEL SECURITY")
	before = db.graph(t)
	done, err := adopt.Rekey(db.DB, rekeying())
	must(t, err)
	equal(t, "rows", done.Rows, 60)
	equal(t, "graph", db.graph(t), before)
}

func TestRekeyLosesNoRowThatRefersToAPartition(t *testing.T) {
	type shopVisit struct {
		ID        uint
		CreatedAt time.Time
	}
	for upper, moved := range map[string]bool{"MAXVALUE": false, "1000000000": true} {
		db := plain(t, testdb.Postgres(t))
		db.fill(t)
		db.exec(t, "CREATE TABLE shop_visits (id bigint PRIMARY KEY, created_at timestamptz) PARTITION BY RANGE (id)",
			"CREATE TABLE early PARTITION OF shop_visits FOR VALUES FROM (0) TO ("+upper+")",
			"CREATE TABLE late PARTITION OF shop_visits DEFAULT",
			"CREATE TABLE pages (visit_id bigint REFERENCES early (id) ON DELETE CASCADE)",
			"INSERT INTO shop_visits VALUES (3, '2025-06-01')", "INSERT INTO pages VALUES (3)")
		_, err := adopt.Rekey(db.DB, adopt.Rekeying{Models: []any{&shopVisit{}}, Worker: 1023})
		if moved { // the foreign key can't be made again
			wantError(t, err, gorm.ErrForeignKeyViolated, "")
		} else {
			must(t, err)
		}
		equal(t, "pages of the visit", db.count(t, "pages", "visit_id = (SELECT id FROM shop_visits)"), 1)
	}
}
