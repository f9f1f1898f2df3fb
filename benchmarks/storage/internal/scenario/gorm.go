package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

var gorms = Scenario{
	Name:     "gorm",
	Title:    "With GORM",
	Question: "What difference does the key make if GORM writes the rows?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-text"},
	Sizes:    []string{"uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{
			measure.P("rows", share(o.Rows, 100, 1000), "create", 1), // single rows are slow
			measure.P("rows", share(o.Rows, 10, 4000), "create", 100),
		}
	},
	Run: runGorm,
}

func runGorm(ctx context.Context, b *Bench) (values map[string]float64, err error) {
	model, ok := gormModels[b.Kind.Name]
	if b.Kind.Name == "uuidv7" && b.Dialect() != "postgres" {
		model = func(n int) any { return gormRows(n, gormRow[bytesUUID]{GormAccount: someone}) }
	}
	if !ok {
		return nil, engine.Unsupported("there is no GORM model for keys of the kind %s", b.Kind.Name)
	}
	table := b.Table("gorm", nil)
	b.tables = append(b.tables, table.Name) // for Clean: GORM creates it, not the engine
	db, err := gorm.Open(dialectors[b.Dialect()](b.DB()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("open GORM: %w", err)
	}
	generator, err := snowflake.New(1)
	if err == nil && b.Kind.Name == "snowflake" {
		err = db.Use(gormplugin.New(generator))
	}
	if err != nil {
		return nil, err
	}
	// Without prepared statements: with them the migrator of GORM 1.31 panics if ctx has ended.
	err = uncancelled(ctx, func(ctx context.Context) error {
		return db.WithContext(ctx).Table(table.Name).Set("gorm:table_options", gormOptions[b.Dialect()]).AutoMigrate(model(1))
	})
	if err != nil {
		return nil, fmt.Errorf("AutoMigrate: %w", err)
	}
	db = db.Session(&gorm.Session{PrepareStmt: true, Context: ctx})
	prepared, ok := db.Statement.ConnPool.(*gorm.PreparedStmtDB)
	if !ok {
		return nil, fmt.Errorf("GORM prepares no statements: its pool is a %T", db.Statement.ConnPool)
	}
	defer prepared.Close()
	rows, batch := b.Number("rows"), b.Number("create")
	return b.Measure(ctx, table.Name, rows, func() error {
		for first := 0; first < rows; first += batch {
			err := db.Table(table.Name).Create(model(min(batch, rows-first))).Error
			if err != nil {
				return errors.Join(context.Cause(ctx), fmt.Errorf("Create: %w", err))
			}
		}
		return nil
	})
}

var dialectors = map[string]func(*sql.DB) gorm.Dialector{
	"sqlite":   func(db *sql.DB) gorm.Dialector { return sqlite.New(sqlite.Config{Conn: db}) },
	"postgres": func(db *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: db}) },
	"mariadb":  func(db *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: db}) },
}

// gormOptions are the table options that the engines use.
var gormOptions = map[string]string{
	"postgres": "WITH (autovacuum_enabled=false)", "mariadb": "ENGINE=InnoDB STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
}

// gormModels return a row, or a slice of rows, as an application would pass them to Create. They have the columns of
// gorm.Model, with the index on deleted_at, and those of an account.
var gormModels = map[string]func(rows int) any{
	"auto":        func(n int) any { return gormRows(n, gormAuto{GormAccount: someone}) },
	"snowflake":   func(n int) any { return gormRows(n, gormSnowflake{GormAccount: someone}) },
	"uuidv7":      func(n int) any { return gormRows(n, gormRow[nativeUUID]{GormAccount: someone}) },
	"uuidv4-text": func(n int) any { return gormRows(n, GormUUID{GormAccount: someone, make: uuid.NewRandom}) },
	"uuidv7-text": func(n int) any { return gormRows(n, GormUUID{GormAccount: someone, make: uuid.NewV7}) },
}

func gormRows[T any](n int, row T) any {
	if n == 1 {
		return &row
	}
	rows := make([]T, n)
	for i := range rows {
		rows[i] = row
	}
	return &rows
}

// GormAccount is exported because GORM skips embedded structs of unexported types.
type GormAccount struct {
	Name   string `gorm:"size:255"`
	Amount int64
}

var someone = GormAccount{Name: "account number 000000", Amount: 100}

type gormAuto struct {
	gorm.Model
	GormAccount
}

type gormSnowflake struct {
	gormplugin.ModelSoftDelete
	GormAccount
}

// gormRow is gorm.Model with a key of the type K, and an account.
type gormRow[K comparable] struct {
	ID        K `gorm:"primaryKey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	GormAccount
}

// BeforeCreate sets the key.
func (r *gormRow[K]) BeforeCreate(*gorm.DB) error { return makeUUID(&r.ID) }

// GormUUID is gorm.Model with a UUID key and an account.
type GormUUID struct {
	ID        string `gorm:"primaryKey;size:36"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	GormAccount

	make func() (uuid.UUID, error) // GORM skips it
}

// BeforeCreate sets the key.
func (u *GormUUID) BeforeCreate(*gorm.DB) error {
	id, err := u.make()
	u.ID = id.String()
	return err
}
