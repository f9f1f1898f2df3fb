package adopt_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// firstID is a key far from what a database counts up to.
const firstID snowflake.ID = 1_000_000_000_000_000_001

// recorder keeps the statements that GORM runs.
type recorder struct {
	logger.Interface
	mu         sync.Mutex
	statements []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, statement)
}

// take returns the statements since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements := r.statements
	r.statements = nil
	return statements
}

// env is a database and the statements that it was sent.
type env struct {
	*gorm.DB
	log    *recorder
	target testdb.Target
}

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

var oldTables = []string{"old_users", "old_orders", "old_groups", "old_user_groups", "old_lines"}

func oldModels() []any { return []any{&oldUser{}, &oldOrder{}, &oldGroup{}, &oldLine{}} }

// plain opens a handle without the plugin and creates the tables of the models.
func plain(t *testing.T, target testdb.Target, models ...any) *env {
	t.Helper()
	e := &env{log: &recorder{Interface: logger.Discard}, target: target}
	db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: e.log, TranslateError: true})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	e.DB = db
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	e.log.take()
	return e
}

func eachPlain(t *testing.T, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) { f(t, plain(t, target, models...)) })
}

func (e *env) drop(t *testing.T, models ...any) {
	t.Helper()
	if err := adopt.DropAutoIncrement(e.DB, models...); err != nil {
		t.Fatal(err)
	}
}

func (e *env) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		must(t, e.Exec(statement))
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
		must(t, e.Create(&user))
		if i%3 == 0 {
			boss = &user.ID
		}
		must(t, e.Create(&oldLine{TenantID: user.ID, Article: "pen"}))
	}
	must(t, e.Delete(&oldUser{}, 2))
	must(t, e.Unscoped().Delete(&oldOrder{}, "number = ?", "59"))
}

// rows returns the rows of tables as text.
func (e *env) rows(t *testing.T, tables ...string) string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		var rows []map[string]any
		must(t, e.Table(table).Find(&rows))
		for _, row := range rows {
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			all[table] = append(all[table], string(text))
		}
		slices.Sort(all[table])
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var counters = regexp.MustCompile(`(?i) AUTO_?INCREMENT(=\d+)?\b(, '?|,|$)?`)

// definitions returns how a database describes all its tables, without counters, and the tables that have a counter.
func (e *env) definitions(t *testing.T) (all string, counted []string) {
	t.Helper()
	var queries, lines []string
	switch e.target.Name {
	case "sqlite":
		queries = []string{`SELECT replace(sql, '"', '` + "`" + `') FROM sqlite_master
			WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type, name`}
		must(t, e.Raw(`SELECT name FROM sqlite_master WHERE sql LIKE '%PRIMARY KEY AUTOINCREMENT%' ORDER BY 1`).Scan(&counted))
	case "postgres":
		const here = "current_schema()::regnamespace"
		queries = []string{
			`SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
				CASE WHEN a.attname <> 'id' THEN pg_get_expr(d.adbin, d.adrelid) END, col_description(c.oid, a.attnum))
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = ` + here + ` AND c.relkind IN ('r', 'v') ORDER BY c.relname, a.attnum`,
			`SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`,
			`SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = ` + here + ` ORDER BY 1`,
		}
		must(t, e.Raw(`SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = `+here+` ORDER BY 1`).Scan(&counted))
	default:
		var tables []string
		must(t, e.Raw(`SELECT table_name FROM information_schema.tables WHERE table_schema = database() ORDER BY 1`).Scan(&tables))
		for _, table := range tables {
			var name, create string
			if err := e.Raw("SHOW CREATE TABLE `"+table+"`").Row().Scan(&name, &create); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, create)
		}
		must(t, e.Raw(`SELECT concat(table_name, '.', column_name) FROM information_schema.columns
			WHERE table_schema = database() AND extra LIKE '%auto_increment%' ORDER BY 1`).Scan(&counted))
	}
	for _, query := range queries {
		var found []string
		must(t, e.Raw(query).Scan(&found))
		lines = append(lines, found...)
	}
	return counters.ReplaceAllString(strings.Join(lines, "\n"), "$2"), counted
}

// wantRefused checks that a row without a key is rejected, or that SQLite, which cannot reject it, assigns the documented
// key.
func (e *env) wantRefused(t *testing.T, table, insert string) {
	t.Helper()
	before := e.rows(t, table)
	var largest, made int64
	must(t, e.Raw("SELECT max(id) FROM "+table).Scan(&largest))
	err := e.Exec(insert).Error
	if e.target.Name != "sqlite" {
		if err == nil || e.rows(t, table) != before {
			t.Errorf("%s: error %v, want that of a missing key", insert, err)
		}
		return
	}
	must(t, e.Raw("SELECT max(id) FROM "+table).Scan(&made))
	equal(t, "key that SQLite assigns", made, largest+1)
	e.exec(t, "DELETE FROM "+table+" WHERE id = "+strconv.FormatInt(made, 10))
}

// must fails the test on the error of a statement.
func must(t testing.TB, result *gorm.DB) {
	t.Helper()
	if result.Error != nil {
		t.Fatal(result.Error)
	}
}

// count returns the number of rows that a condition finds in a table.
func (e *env) count(t testing.TB, table, where string, args ...any) int64 {
	t.Helper()
	var n int64
	must(t, e.Table(table).Where(where, args...).Count(&n))
	return n
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// column is what a database says of a column.
type column struct {
	Type string // in lower case, without a width
	Made bool   // by a sequence, AUTO_INCREMENT or a default
}

// column asks the database itself, not GORM's migrator.
func (e *env) column(t *testing.T, table, name string) (c column) {
	t.Helper()
	query := map[string]string{
		"sqlite": `SELECT type, dflt_value IS NOT NULL OR (SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = @table)
			FROM pragma_table_info(@table) WHERE name = @name`,
		"postgres": `SELECT data_type, column_default IS NOT NULL OR is_identity = 'YES' FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = @table AND column_name = @name`,
		"mariadb": `SELECT data_type, extra <> '' OR column_default IS NOT NULL AND column_default <> 'NULL'
			FROM information_schema.columns WHERE table_schema = database() AND table_name = @table AND column_name = @name`,
	}[e.target.Name]
	row := e.Raw(query, sql.Named("table", table), sql.Named("name", name)).Row()
	if err := row.Scan(&c.Type, &c.Made); err != nil {
		t.Fatalf("column %s of %s: %v", name, table, err)
	}
	c.Type = strings.ToLower(c.Type)
	return c
}
