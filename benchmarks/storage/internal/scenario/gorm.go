package scenario

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var gorms = Scenario{
	Name:  "gorm",
	Title: "Through GORM",
	Question: "How large is the difference if GORM writes the rows: gorm.Model, gormplugin's, and UUIDs that a " +
		"BeforeCreate sets?",
	Kinds: []string{"auto", "snowflake", "uuidv7-text", "uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{
			measure.P("rows", max(o.Rows/20, 1), "create", 1), // single rows are slow
			measure.P("rows", max(o.Rows/5, 1), "create", 100),
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
	cost, err := b.Measure(ctx, []string{table.Name}, func() error {
		for first := 0; first < rows; first += batch {
			n := min(batch, rows-first)
			if err := model.create(db.Table(table.Name), first, n); err != nil {
				return fmt.Errorf("Create: %w", err)
			}
			b.Progress(n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var found int
	if err := b.DB().QueryRowContext(ctx, "SELECT count(*) FROM "+table.Name).Scan(&found); err != nil {
		return nil, err
	}
	if found != rows {
		return nil, fmt.Errorf("%d rows are in the table, want %d", found, rows)
	}
	values = map[string]float64{}
	cost.Into(values, rows)
	return values, b.Sizes(ctx, values, table.Name, rows)
}

// gorm opens GORM on the engine's pool, creates the table, and returns a function that closes GORM's prepared
// statements.
func (b *Bench) gorm(ctx context.Context, model gormModel, table string) (*gorm.DB, func() error, error) {
	db, err := gorm.Open(dialectors[b.Name()](b.DB()), &gorm.Config{Logger: quiet})
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
	err = db.WithContext(ctx).Table(table).Set("gorm:table_options", gormOptions[b.Name()]).AutoMigrate(model.new())
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
