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
	Kinds:    []string{"auto", "snowflake", "uuidv7-text"},
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
	if !ok {
		return nil, engine.Unsupported("there is no GORM model for keys of the kind %s", b.Kind.Name)
	}
	table := b.Table("gorm", nil)
	b.tables = append(b.tables, table.Name) // for Clean: GORM creates it, not the engine
	db, done, err := b.gorm(ctx, model, table.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	rows, batch := b.Number("rows"), b.Number("create")
	return b.Measure(ctx, table.Name, rows, func() error {
		for first := 0; first < rows; first += batch {
			n := min(batch, rows-first)
			if err := model.create(db.Table(table.Name), first, n); err != nil {
				return fmt.Errorf("Create: %w", err)
			}
		}
		return nil
	})
}

// gorm opens GORM on the engine's pool, creates the table, and returns a function that closes GORM's prepared
// statements.
func (b *Bench) gorm(ctx context.Context, model gormModel, table string) (*gorm.DB, func() error, error) {
	db, err := gorm.Open(dialectors[b.Dialect()](b.DB()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, nil, fmt.Errorf("open GORM: %w", err)
	}
	if model.plugin != nil {
		plugin, err := model.plugin()
		if err == nil {
			err = db.Use(plugin)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	// Without prepared statements: with them the migrator of GORM 1.31 panics if ctx has ended.
	err = uncancelled(ctx, func(ctx context.Context) error {
		return db.WithContext(ctx).Table(table).Set("gorm:table_options", gormOptions[b.Dialect()]).AutoMigrate(model.new())
	})
	if err != nil {
		return nil, nil, fmt.Errorf("AutoMigrate: %w", err)
	}
	db = db.Session(&gorm.Session{PrepareStmt: true, Context: ctx})
	return db, func() error {
		prepared, ok := db.Statement.ConnPool.(*gorm.PreparedStmtDB)
		if !ok {
			return fmt.Errorf("GORM prepares no statements: its pool is a %T", db.Statement.ConnPool)
		}
		prepared.Close() // has nothing to return
		return nil
	}, nil
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

// gormModel is a model as an application would write it.
type gormModel struct {
	new    func() any
	create func(db *gorm.DB, first, n int) error
	plugin func() (gorm.Plugin, error) // nil: none
}

// gormModels have the columns of gorm.Model, with the index on deleted_at, and those of an account.
var gormModels = map[string]gormModel{
	"auto":        modelOf(func(a GormAccount) gormAuto { return gormAuto{GormAccount: a} }),
	"snowflake":   snowflakeModel(),
	"uuidv4-text": modelOf(func(a GormAccount) GormUUID { return GormUUID{GormAccount: a, make: uuid.NewRandom} }),
	"uuidv7-text": modelOf(func(a GormAccount) GormUUID { return GormUUID{GormAccount: a, make: uuid.NewV7} }),
}

// GormAccount is exported because GORM skips embedded structs of unexported types.
type GormAccount struct {
	Name   string `gorm:"size:255"`
	Amount int64
}

type gormAuto struct {
	gorm.Model
	GormAccount
}

type gormSnowflake struct {
	gormplugin.ModelSoftDelete
	GormAccount
}

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

func snowflakeModel() gormModel {
	model := modelOf(func(a GormAccount) gormSnowflake { return gormSnowflake{GormAccount: a} })
	model.plugin = func() (gorm.Plugin, error) {
		generator, err := snowflake.New(1)
		return gormplugin.New(generator), err
	}
	return model
}

func modelOf[T any](row func(GormAccount) T) gormModel {
	numbered := func(i int) T {
		return row(GormAccount{Name: fmt.Sprintf("account number %06d", i%1_000_000), Amount: int64(i%10_000) * 100})
	}
	return gormModel{
		new: func() any { return new(T) },
		create: func(db *gorm.DB, first, n int) error {
			rows := make([]T, n)
			for i := range rows {
				rows[i] = numbered(first + i)
			}
			if n == 1 { // as an application would
				return db.Create(&rows[0]).Error
			}
			return db.Create(&rows).Error
		},
	}
}
