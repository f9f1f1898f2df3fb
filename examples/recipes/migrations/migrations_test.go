// Package migrations runs the files for goose and golang-migrate.
package migrations

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// files returns the files of a folder for a role.
func files(t *testing.T, dir, role string) fstest.MapFS {
	t.Helper()
	entries, err := os.ReadDir(dir)
	exampletest.Must(t, err)
	fsys := fstest.MapFS{}
	for _, e := range entries {
		text, err := os.ReadFile(dir + "/" + e.Name())
		exampletest.Must(t, err)
		fsys[e.Name()] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(text), "TO service", "TO "+role))}
	}

	return fsys
}

// newService returns a database with the tables users and orders, the name of a role that may use them, and the DSN of
// that role.
func newService(t *testing.T) (target testdb.Target, role, dsn string) {
	t.Helper()
	target = testdb.Postgres(t)
	db := target.Open(t)
	role = "sf_" + leasetest.NewToken()[:20]
	exec := func(ctx context.Context, query string) {
		t.Helper()
		_, err := db.ExecContext(ctx, query)
		exampletest.Must(t, err)
	}
	exec(t.Context(), "CREATE ROLE "+role)
	t.Cleanup(func() {
		exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role)
		exec(context.WithoutCancel(t.Context()), "DROP ROLE "+role)
	})
	var schema string
	exampletest.Must(t, db.QueryRow("SELECT current_schema()").Scan(&schema))

	for _, query := range []string{
		`CREATE TABLE users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text, created_at timestamptz)`,
		`CREATE TABLE orders (id bigint PRIMARY KEY, user_id uuid NOT NULL REFERENCES users)`,
		`INSERT INTO users (id, name, created_at) VALUES
			('00000000-0000-4000-8000-000000000003', 'Ada', '2023-01-01'),
			('00000000-0000-4000-8000-000000000001', 'Edsger', '2024-01-01'),
			('00000000-0000-4000-8000-000000000002', 'Grace', '2024-01-01')`,
		`INSERT INTO orders VALUES (1, '00000000-0000-4000-8000-000000000002')`,
		"GRANT USAGE ON SCHEMA " + schema + " TO " + role,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON users, orders TO " + role,
	} {
		exec(t.Context(), query)
	}

	return target, role, target.DSN + "&role=" + role
}

func openService(t *testing.T, dsn string) (*gorm.DB, error) {
	t.Helper()
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	exampletest.Must(t, err)
	pool, err := db.DB()
	exampletest.Must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	plugin, err := gormplugin.Open(t.Context(), db, gormplugin.WithMinID(1_000_000_000_000))

	if err == nil {
		t.Cleanup(func() { exampletest.Must(t, plugin.Close(context.WithoutCancel(t.Context()))) })
	}

	return db, err
}

type user struct {
	gormplugin.Model
	UUID   *string
	Name   string
	Orders []order
}

type order struct {
	ID     snowflake.ID
	UserID snowflake.ID
}

func TestGooseMovesATableFromUUIDsForARoleThatMayNotCreate(t *testing.T) {
	target, role, dsn := newService(t)
	if _, err := openService(t, dsn); err == nil {
		t.Error("the role may create tables")
	}

	provider, err := goose.NewProvider(goose.DialectPostgres, target.Open(t), files(t, "goose", role))
	exampletest.Must(t, err)
	_, err = provider.Up(t.Context())
	exampletest.Must(t, err)

	exampletest.Must(t, target.Open(t).QueryRow("ALTER TABLE users ADD COLUMN updated_at timestamptz").Err())
	db, err := openService(t, dsn)
	exampletest.Must(t, err)
	exampletest.Must(t, db.Create(&user{Name: "Barbara", Orders: []order{{}}}).Error)
	var users []user
	exampletest.Must(t, db.Preload("Orders").Order("id").Find(&users).Error)
	var names []string

	for _, u := range users {
		names = append(names, u.Name+strings.Repeat(" bought", len(u.Orders)))
	}

	got := strings.Join(names, ", ")
	if got != "Ada, Edsger, Grace bought, Barbara bought" || users[2].ID != 3 ||
		snowflake.Default().Validate(users[3].ID) != nil {
		t.Errorf("%s %+v", got, users)
	}

	var old user
	exampletest.Must(t, db.Take(&old, "uuid = ?", "00000000-0000-4000-8000-000000000003").Error)
	if old.Name != "Ada" {
		t.Errorf("an old link leads to %+v", old)
	}
	if err := db.Exec("INSERT INTO orders VALUES (2, 4)").Error; err == nil {
		t.Error("an order of no user was stored")
	}

	_, err = provider.DownTo(t.Context(), 0)
	exampletest.Must(t, err)
}

func TestGolangMigrateMakesTheLeaseTableForARoleThatMayNotCreate(t *testing.T) {
	target, role, dsn := newService(t)
	source, err := iofs.New(files(t, "golang-migrate", role), ".")
	exampletest.Must(t, err)
	driver, err := migratepgx.WithInstance(target.Open(t), &migratepgx.Config{})
	exampletest.Must(t, err)
	m, err := migrate.NewWithInstance("iofs", source, "pgx5", driver)
	exampletest.Must(t, err)
	exampletest.Must(t, m.Up())
	_, err = openService(t, dsn)
	exampletest.Must(t, err)
	exampletest.Must(t, m.Down())
}

func TestTheFilesHaveTheCurrentLeaseTables(t *testing.T) {
	schema, err := sqllease.Schema(sqldb.Postgres, "")
	exampletest.Must(t, err)
	for _, name := range []string{"goose/00001_snowflake_leases.sql", "golang-migrate/000001_snowflake_leases.up.sql"} {
		text, err := os.ReadFile(name)
		exampletest.Must(t, err)
		for _, create := range schema {
			if !strings.Contains(string(text), create) {
				t.Errorf("%s does not contain\n%s", name, create)
			}
		}
	}
}
