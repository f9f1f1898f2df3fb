package adopt_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/contrib/adopt"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// firstID is a key far from what a database counts up to.
const firstID snowflake.ID = 1_000_000_000_000_000_001

// The models of an application before it uses snowflakes.
type (
	oldUser struct {
		gorm.Model
		Name   string `gorm:"size:40;not null;default:nobody;comment:what they're called; AUTO_INCREMENT?"`
		Email  string `gorm:"size:80;uniqueIndex"`
		BossID *uint
		Boss   *oldUser
		Orders []oldOrder `gorm:"foreignKey:UserID;constraint:OnDelete:CASCADE"`
		Groups []oldGroup `gorm:"many2many:old_user_groups;joinForeignKey:UserID;joinReferences:GroupID"`
	}
	oldOrder struct {
		ID     int64  `gorm:"comment:the key"`
		UserID uint   `gorm:"index"`
		Cents  int    `gorm:"check:cents >= 0;not null;default:7"`
		Number string `gorm:"size:20;unique"`
	}
	oldGroup struct {
		ID   uint64
		Name string `gorm:"size:20"`
	}
	oldLine struct {
		ID       uint `gorm:"primaryKey"`
		TenantID uint `gorm:"primaryKey;autoIncrement:false"`
		Article  string
	}
)

// The same tables, as the application has them afterwards.
type (
	newUser struct {
		gormplugin.ModelSoftDelete
		Name   string        `gorm:"size:40;not null;default:nobody;comment:what they're called; AUTO_INCREMENT?"`
		Email  string        `gorm:"size:80;uniqueIndex:idx_old_users_email"`
		BossID *snowflake.ID `gorm:"type:int"`
		Orders []newOrder    `gorm:"foreignKey:UserID"`
	}
	newOrder struct {
		ID     snowflake.ID `gorm:"primaryKey;type:int;comment:the key"`
		UserID snowflake.ID `gorm:"type:int;index:idx_old_orders_user_id"`
		Cents  int          `gorm:"not null;default:7"`
		Number string       `gorm:"size:20;unique"`
	}
)

func (newUser) TableName() string  { return "old_users" }
func (newOrder) TableName() string { return "old_orders" }

func oldModels() []any { return []any{&oldUser{}, &oldOrder{}, &oldGroup{}, &oldLine{}} }

// env is a database.
type env struct {
	*gorm.DB
	pool   *sql.DB
	target testdb.Target
}

// plain opens a handle without the plugin and creates the tables of the models.
func plain(t *testing.T, target testdb.Target, models ...any) *env {
	t.Helper()
	db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	must(t, db.AutoMigrate(models...))
	return &env{DB: db, pool: pool, target: target}
}

func eachPlain(t *testing.T, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) { f(t, plain(t, target, models...)) })
}

// single returns a handle whose pool has one connection.
func single(t *testing.T, target testdb.Target, models ...any) *env {
	t.Helper()
	db := plain(t, target, models...)
	db.pool.SetMaxOpenConns(1)
	return db
}

// use gives the handle the plugin.
func (e *env) use(t *testing.T, layout snowflake.Layout, opts ...gormplugin.Option) {
	t.Helper()
	gen, err := snowflake.New(0, snowflake.WithLayout(layout))
	must(t, err)
	must(t, e.Use(gormplugin.New(gen, opts...)))
}

func (e *env) drop(t *testing.T, models ...any) {
	t.Helper()
	must(t, adopt.DropAutoIncrement(e.DB, models...))
}

// schema returns the name of the schema of the test, or of its database.
func (e *env) schema(t *testing.T) (name string) {
	t.Helper()
	must(t, e.Raw("SELECT "+map[string]string{
		"sqlite": "'main'", "postgres": "current_schema()", "mariadb": "database()",
	}[e.target.Name]).Row().Scan(&name))
	return name
}

func (e *env) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := e.pool.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// fillOld stores rows with gaps between their keys and deletes the last one, whose key must not come back.
func (e *env) fillOld(t *testing.T) {
	t.Helper()
	var boss *uint
	for i := range 30 {
		user := oldUser{
			Name: "user", Email: strconv.Itoa(i), BossID: boss,
			Orders: []oldOrder{{Cents: i, Number: strconv.Itoa(2 * i)}, {Number: strconv.Itoa(2*i + 1)}},
			Groups: []oldGroup{{Name: "group"}},
		}
		must(t, e.Create(&user).Error)
		if i%3 == 0 {
			boss = &user.ID
		}
		must(t, e.Create(&oldLine{TenantID: user.ID, Article: "pen"}).Error)
	}

	must(t, e.Delete(&oldUser{}, 2).Error)
	must(t, e.Unscoped().Delete(&oldOrder{}, "number = ?", "59").Error)
}

// state is what a database says of all its tables, without counters, the counters, and all rows.
type state struct{ definitions, counters, rows string }

// adopted returns the state after DropAutoIncrement, which leaves the counters of SQLite.
func (e *env) adopted(s state) state {
	if e.target.Name != "sqlite" {
		s.counters = ""
	}
	return s
}

var autoIncrement = regexp.MustCompile(`(?i) AUTO_?INCREMENT(=\d+)?\b(, '?|,|$)?`)

// queries of the definitions and the counters. They ask the database itself, not GORM's migrator.
var queries = map[string][2]string{
	"sqlite": {
		`SELECT replace(sql, '"', '` + "`" + `') FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type, name`,
		`SELECT name FROM sqlite_master WHERE sql LIKE '%PRIMARY KEY AUTOINCREMENT%' ORDER BY 1`,
	},
	"postgres": {
		`SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, CASE WHEN column_name <> 'id' THEN column_default END,
			col_description(to_regclass(quote_ident(table_name)), ordinal_position::int))
		FROM information_schema.columns WHERE table_schema = current_schema()
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
		UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = current_schema()::regnamespace ORDER BY 1`,
		`SELECT 'sequence ' || relname FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace
		UNION ALL SELECT concat_ws(' ', table_name, column_name, column_default, is_identity) FROM information_schema.columns
			WHERE table_schema = current_schema() AND column_name = 'id' AND (column_default <> '' OR is_identity = 'YES') ORDER BY 1`,
	},
	"mariadb": {"", `SELECT concat(table_name, '.', column_name) FROM information_schema.columns
		WHERE table_schema = database() AND extra LIKE '%auto_increment%' ORDER BY 1`},
}

func (e *env) state(t *testing.T) (s state) {
	t.Helper()
	tables, err := e.Migrator().GetTables()
	must(t, err)
	tables = slices.DeleteFunc(tables, func(table string) bool { return table == "sqlite_sequence" })
	slices.Sort(tables)
	var definitions, counters []string
	if of := queries[e.target.Name]; of[0] != "" {
		must(t, e.Raw(of[0]).Scan(&definitions).Error)
	}

	must(t, e.Raw(queries[e.target.Name][1]).Scan(&counters).Error)
	for _, table := range tables {
		if e.target.Name == "mariadb" {
			var name, create string
			must(t, e.Raw("SHOW CREATE TABLE `"+table+"`").Row().Scan(&name, &create))
			definitions = append(definitions, create)
		}
		s.rows += table + e.rows(t, table)
	}

	s.definitions = autoIncrement.ReplaceAllString(strings.Join(definitions, "\n"), "$2")
	s.counters = strings.Join(counters, ", ")
	return s
}

// rows returns the rows of a table or view as text.
func (e *env) rows(t *testing.T, table string) string {
	t.Helper()
	var rows []map[string]any
	must(t, e.Raw("SELECT * FROM "+e.Statement.Quote(table)).Find(&rows).Error)
	texts := make([]string, len(rows))
	for i, row := range rows {
		text, err := json.Marshal(row)
		must(t, err)
		texts[i] = string(text)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// wantRefused checks that a row without a key is rejected. SQLite numbers it.
func (e *env) wantRefused(t *testing.T, table, columns, values string) {
	t.Helper()
	if e.target.Name == "sqlite" {
		return
	}
	if err := e.Exec("INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ")").Error; err == nil {
		t.Errorf("%s has a row without a key", table)
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks an error and its text.
func wantError(t *testing.T, err, want error, text string) {
	t.Helper()
	if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %v with %q", err, want, text)
	}
}

// count returns the number of rows that a condition finds in a table.
func (e *env) count(t testing.TB, table, where string, args ...any) (n int64) {
	t.Helper()
	must(t, e.Table(table).Where(where, args...).Count(&n).Error)
	return n
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
