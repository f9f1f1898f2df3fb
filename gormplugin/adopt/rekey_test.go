package adopt_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// The tables of a shop. Notes and invitations refer to users without foreign keys.
type (
	shopUser struct {
		gorm.Model
		BossID  *uint
		Boss    *shopUser
		Orders  []shopOrder   `gorm:"foreignKey:UserID;constraint:OnUpdate:SET NULL"`
		Groups  []shopGroup   `gorm:"many2many:shop_user_groups"`
		Notes   []shopNote    `gorm:"polymorphic:Owner"`
		Invites []*shopInvite `gorm:"foreignKey:UserID;constraint:-"`
	}
	shopOrder struct {
		ID        uint64
		UserID    *uint `gorm:"index"`
		User      *shopUser
		CreatedAt time.Time
		Notes     []shopNote `gorm:"polymorphic:Owner"`
	}
	shopGroup struct {
		ID   uint64
		Name string
	}
	shopNote struct {
		ID        uint
		OwnerID   uint
		OwnerType string
	}
	shopInvite struct {
		ID     uint
		UserID uint
		Text   string
	}
)

func shopModels() []any {
	return []any{&shopUser{}, &shopOrder{}, &shopGroup{}, &shopNote{}, &shopInvite{}}
}

const (
	minID = 1_000_000_000
	newID = 250_000_000_000_000_000
)

func rekeying() adopt.Rekeying {
	return adopt.Rekeying{Models: []any{&shopUser{}, &shopOrder{}}, Worker: 1023}
}

// keyType is the type of keys and references.
func keyType(target testdb.Target) string {
	return map[string]string{"sqlite": "bigint", "postgres": "bigint", "mariadb": "bigint unsigned"}[target.Name]
}

// shop opens a handle with the tables and 20 users.
func shop(t *testing.T, target testdb.Target) *env {
	t.Helper()
	db := plain(t, target, shopModels()...)
	start := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	for i := range uint(20) {
		at := start.Add(time.Duration(i/3) * time.Hour)
		user := shopUser{
			Model: gorm.Model{CreatedAt: at}, Groups: []shopGroup{{Name: "a"}}, Notes: []shopNote{{}},
			Invites: []*shopInvite{{Text: "come"}}, Orders: []shopOrder{{CreatedAt: at, Notes: []shopNote{{}}}, {CreatedAt: at}},
		}
		if i > 3 {
			boss := i / 2
			user.BossID = &boss
		}
		must(t, db.Create(&user).Error)
	}
	must(t, db.Delete(&shopUser{}, 4).Error) // softly
	db.exec(t, "INSERT INTO shop_invites (user_id, text) VALUES (999, 'dangling'), (0, 'nobody')")
	db.exec(t, fmt.Sprintf("INSERT INTO shop_orders (id, user_id, created_at) VALUES (%d, 7, '2026-01-01 00:00:00')", newID))
	number := keyType(target)
	db.exec(t, // tables that no model shows; the second refers to a reference
		"CREATE TABLE shop_logs (user_id "+number+" NOT NULL UNIQUE, FOREIGN KEY (user_id) REFERENCES shop_users (id))",
		"CREATE TABLE shop_details (user_id "+number+", FOREIGN KEY (user_id) REFERENCES shop_logs (user_id))",
		"INSERT INTO shop_logs VALUES (3), (9)", "INSERT INTO shop_details VALUES (9), (NULL)")
	db.fill(t)
	return db
}

// fill lets the plugin make the keys from now on.
func (e *env) fill(t *testing.T) {
	t.Helper()
	must(t, e.Use(gormplugin.New(must2(snowflake.New(5))(t), gormplugin.WithMinID(minID), gormplugin.WithIntegerKeys())))
}

func must2[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// tableNames are those whose rows count.
var tableNames = []string{"shop_users", "shop_orders", "shop_groups", "shop_user_groups", "shop_notes", "shop_invites", "shop_logs", "shop_details"}

func (e *env) allRows(t *testing.T) string {
	t.Helper()
	var all []string
	for _, table := range tableNames {
		all = append(all, table, e.rows(t, table))
	}
	return strings.Join(all, "\n")
}

// graph is who refers to whom, by what does not change.
func (e *env) graph(t *testing.T) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		"SELECT u.created_at, count(o.id) AS orders, min(o.created_at) AS made FROM shop_users u JOIN shop_orders o ON o.user_id = u.id GROUP BY u.id, u.created_at",
		"SELECT u.created_at, b.created_at AS boss FROM shop_users u LEFT JOIN shop_users b ON b.id = u.boss_id",
		"SELECT u.created_at, g.id FROM shop_users u JOIN shop_user_groups s ON s.shop_user_id = u.id JOIN shop_groups g ON g.id = s.shop_group_id",
		"SELECT n.id, u.created_at FROM shop_notes n JOIN shop_users u ON u.id = n.owner_id AND n.owner_type = 'shop_users'",
		"SELECT n.id, o.created_at FROM shop_notes n JOIN shop_orders o ON o.id = n.owner_id AND n.owner_type = 'shop_orders'",
		"SELECT u.created_at FROM shop_logs l JOIN shop_users u ON u.id = l.user_id",
		"SELECT u.created_at FROM shop_details d LEFT JOIN shop_users u ON u.id = d.user_id",
		"SELECT count(*) AS n, max(u.created_at) AS made FROM shop_invites i JOIN shop_users u ON u.id = i.user_id",
	} {
		all = append(all, e.rows(t, "("+query+") AS q"))
	}
	return strings.Join(all, "\n")
}

// shopMember is another model of the table of shopUser.
type shopMember struct {
	ID        uint
	CreatedAt time.Time
}

func (shopMember) TableName() string { return "shop_users" }

func TestRekeyGivesOldRowsKeysWithTheirTime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		graph, before := db.graph(t), db.state(t)
		what := rekeying()
		what.Models = append(what.Models, &shopMember{})
		done, err := adopt.Rekey(db.DB, what)
		must(t, err)
		equal(t, "rows", done.Rows, 20+40)
		equal(t, "dangling", fmt.Sprint(done.Dangling), "map[shop_invites.user_id:1]")
		equal(t, "graph", db.graph(t), graph)
		equal(t, "old keys", db.count(t, "shop_users", "id < ?", minID)+db.count(t, "shop_orders", "id < ?", minID), 0)
		equal(t, "new row", db.count(t, "shop_orders", "id = ?", newID), 1)
		equal(t, "map", db.count(t, "shop_users_old_keys", "old_key <= 20"), 20)
		var users []shopUser
		from := time.Date(2025, 6, 1, 13, 0, 0, 0, time.UTC)
		must(t, db.Unscoped().Scopes().Where(gormplugin.CreatedBetween(from, from.Add(time.Hour)).In(snowflake.Default())).Find(&users).Error)
		equal(t, "users of an hour, one of them deleted", len(users), 3)
		for _, u := range users {
			equal(t, "hour", u.CreatedAt.UTC(), from)
		}
		for _, table := range []string{"shop_users_old_keys", "shop_orders_old_keys"} {
			db.exec(t, "ALTER TABLE "+table+" RENAME TO kept_"+table)
			db.exec(t, "DROP TABLE kept_"+table)
		}
		after := db.state(t)
		equal(t, "definitions", after.definitions, before.definitions)
		again, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "rows of the second call", again.Rows, 0)
		equal(t, "state", db.state(t), after)
	})
}

// It interrupts the call before each of its statements.
func TestAnInterruptedRekeyChangesNothingAndCanBeRepeated(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		before := db.allRows(t)
		left, interrupt := 0, func() {}
		step := func(*gorm.DB) {
			if left--; left == 0 {
				interrupt()
			}
		}
		must(t, db.Callback().Raw().Before("*").Register("test:step", step))
		must(t, db.Callback().Row().Before("*").Register("test:step", step))
		must(t, db.Callback().Query().Before("*").Register("test:step", step))
		steps, stride := 1, 1
		if target.Name == "mariadb" { // whose catalog is slow
			stride = 5
		}
		for ; ; steps += stride {
			ctx, cancel := context.WithCancel(t.Context())
			left, interrupt = steps, cancel
			_, err := adopt.Rekey(db.WithContext(ctx), rekeying())
			interrupted := left <= 0
			left = 0
			cancel()
			if err == nil {
				if interrupted && db.allRows(t) == before { // in the last statements, which are not interrupted
					t.Fatalf("step %d: no error", steps)
				}
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("step %d: %v", steps, err)
			}
			equal(t, fmt.Sprintf("rows after step %d", steps), db.allRows(t), before)
		}
		if steps < 15 {
			t.Errorf("%d steps", steps)
		}
		other := shop(t, reopen(t, target.Name))
		_, err := adopt.Rekey(other.DB, rekeying())
		must(t, err)
		equal(t, "graph", db.graph(t), other.graph(t))
		equal(t, "users", db.keys(t), other.keys(t))
	})
}

const childVariable = "ADOPT_TEST_CHILD"

// TestRekeyChild is the process that is killed.
func TestRekeyChild(t *testing.T) {
	name, dsn, _ := strings.Cut(os.Getenv(childVariable), " ")
	if name == "" {
		return // a program of the next test
	}
	driver := map[string]string{"sqlite": "sqlite3", "postgres": "pgx", "mariadb": "mysql"}[name]
	db := plain(t, testdb.Target{Name: name, Driver: driver, DSN: dsn})
	db.fill(t)
	update := func(tx *gorm.DB) {
		if strings.HasPrefix(tx.Statement.SQL.String(), "UPDATE") && strings.Contains(tx.Statement.SQL.String(), "shop_users_old_keys") {
			fmt.Println("ready")
			select {}
		}
	}
	must(t, db.Callback().Raw().After("gorm:raw").Register("test:stop", update))
	_, err := adopt.Rekey(db.DB, rekeying())
	must(t, err)
}

func TestAKilledRekeyChangesNothingAndCanBeRepeated(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		before, graph := db.allRows(t), db.graph(t)
		self, err := os.Executable()
		must(t, err)
		child := exec.CommandContext(t.Context(), self, "-test.run=^TestRekeyChild$")
		child.Env = append(os.Environ(), childVariable+"="+target.Name+" "+target.DSN)
		out, err := child.StdoutPipe()
		must(t, err)
		must(t, child.Start())
		line, _ := bufio.NewReader(out).ReadString('\n')
		equal(t, "output", line, "ready\n")
		must(t, child.Process.Kill())
		_ = child.Wait()
		if target.Name != "postgres" { // which waits for the end of the lost session to read
			equal(t, "rows", db.allRows(t), before)
		}
		done, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "rows", done.Rows, 60)
		equal(t, "graph", db.graph(t), graph)
	})
}

func TestRekeyOfAnEmptyTableDoesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := plain(t, target, shopModels()...)
		db.fill(t)
		before := db.state(t)
		_, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "state", db.state(t), before)
		must(t, db.Create(&shopUser{Model: gorm.Model{ID: 1, CreatedAt: time.Now().Add(-time.Hour)}}).Error) // without orders
		done, err := adopt.Rekey(db.DB, rekeying())
		must(t, err)
		equal(t, "rows", done.Rows, 1)
	})
}

func (e *env) keys(t *testing.T) string {
	t.Helper()
	var users, orders []uint64
	must(t, e.Raw("SELECT id FROM shop_users ORDER BY id").Scan(&users).Error)
	must(t, e.Raw("SELECT id FROM shop_orders ORDER BY id").Scan(&orders).Error)
	return fmt.Sprint(users, orders)
}

func reopen(t *testing.T, name string) testdb.Target {
	t.Helper()
	return map[string]func(testing.TB) testdb.Target{
		"sqlite": testdb.SQLite, "postgres": testdb.Postgres, "mariadb": testdb.MariaDB,
	}[name](t)
}

func TestRekeyRefusesAndChangesNothing(t *testing.T) {
	type textKey struct {
		ID        string `gorm:"snowflake"`
		CreatedAt time.Time
	}
	type timeless struct{ ID uint }
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := shop(t, target)
		must(t, db.AutoMigrate(&timeless{}, &textKey{}))
		must(t, db.Create(&timeless{}).Error)
		with := func(models ...any) adopt.Rekeying {
			what := rekeying()
			what.Models = append(what.Models, models...)
			return what
		}
		for name, test := range map[string]struct {
			what    adopt.Rekeying
			created string // the time of a user; empty: as it is
			want    error
			text    string
		}{
			"a NULL time":              {rekeying(), "NULL", sqlfunc.ErrNoTime, `shop_users: the row with id "4"`},
			"before the epoch":         {rekeying(), "'2024-06-01 13:00:00'", snowflake.ErrBeforeEpoch, `"4"`},
			"too soon after the epoch": {rekeying(), "'2025-01-01 00:00:00'", adopt.ErrKeysKept, "too soon"},
			"a key of text":            {with(&textKey{}), "", adopt.ErrNoIntegerKey, "text_keys.id"},
			"no time":                  {with(&timeless{}), "", adopt.ErrKeysKept, "CreatedAt"},
			"a worker":                 {adopt.Rekeying{Models: rekeying().Models, Worker: 5000}, "", snowflake.ErrFieldRange, ""},
		} {
			db.exec(t, "UPDATE shop_users SET created_at = "+cmp.Or(test.created, "'2025-06-01 13:00:00'")+" WHERE id = 4")
			before := db.allRows(t)
			done, err := adopt.Rekey(db.DB, test.what)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %+v, error %v, want %v with %q", name, done, err, test.want, test.text)
			}
			equal(t, name+": rows", db.allRows(t), before)
		}
		db.exec(t, "UPDATE shop_users SET created_at = '2025-06-01 13:00:00' WHERE id = 4")
		err := db.Transaction(func(tx *gorm.DB) error { _, err := adopt.Rekey(tx, rekeying()); return err })
		wantError(t, err, adopt.ErrKeysKept, "transaction")
		if target.Name == "sqlite" {
			db.pool.SetMaxOpenConns(1)
			db.exec(t, "CREATE TEMP TABLE shop_orders AS SELECT * FROM shop_orders")
			_, err := adopt.Rekey(db.DB, rekeying())
			wantError(t, err, adopt.ErrKeysKept, "shop_orders.id: a temporary table")
		}
		if target.Name == "mariadb" {
			db.exec(t, "ALTER TABLE shop_users_old_keys ENGINE = MyISAM")
			_, err := adopt.Rekey(db.DB, rekeying())
			wantError(t, err, adopt.ErrKeysKept, "shop_users_old_keys.old_key: the table has no transactions")
			target.DSN = strings.ReplaceAll(target.DSN, "parseTime=true", "parseTime=false")
			texts := plain(t, target)
			texts.fill(t)
			_, err = adopt.Rekey(texts.DB, rekeying())
			wantError(t, err, adopt.ErrKeysKept, "parseTime=true")
		}
		if target.Name != "sqlite" { // a child that no foreign key shows
			wide := "ALTER TABLE shop_invites ALTER COLUMN user_id TYPE varchar(30)"
			if target.Name == "mariadb" {
				wide = "ALTER TABLE shop_invites MODIFY user_id int"
			}
			db.exec(t, wide)
			_, err := adopt.Rekey(db.DB, rekeying())
			wantError(t, err, adopt.ErrNoIntegerKey, "shop_invites.user_id")
			if target.Name == "mariadb" {
				db.exec(t, "ALTER TABLE shop_invites ENGINE = MyISAM")
				_, err := adopt.Rekey(db.DB, rekeying())
				wantError(t, err, adopt.ErrKeysKept, "InnoDB")
			}
		}
	})
}
