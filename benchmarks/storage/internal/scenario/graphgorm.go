package scenario

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// gormSave returns a function that saves a graph with GORM, as an application does: one Create of an order with its
// lines and their tags. GORM sends BEGIN, a statement for each table and COMMIT, and waits for each of them.
func (b *Bench) gormSave(pool *sql.DB) (func(ctx context.Context) error, error) {
	dialector := mysql.New(mysql.Config{Conn: pool})
	if b.Dialect() == "postgres" {
		dialector = postgres.New(postgres.Config{Conn: pool})
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("open GORM: %w", err)
	}

	switch b.Kind.Name {
	case "auto":
		return graphCreator[int64](db), nil

	case "snowflake":
		generator, err := snowflake.New(1)
		if err != nil {
			return nil, err
		}
		return graphCreator[snowflake.ID](db), db.Use(gormplugin.New(generator))

	case "uuidv7":
		if b.Dialect() == "postgres" {
			return graphCreator[uuid.UUID](db), nil
		}
		return graphCreator[bytesUUID](db), nil
	}
	return nil, engine.Unsupported("there is no GORM model for keys of the kind %s", b.Kind.Name)
}

func graphCreator[K comparable](db *gorm.DB) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		order := gormOrder[K]{Lines: make([]gormLine[K], graphLines)}
		for i := range order.Lines {
			order.Lines[i].Amount = int64(i)
			order.Lines[i].Tags = make([]gormTag[K], graphTags)
		}
		return db.WithContext(ctx).Create(&order).Error
	}
}

// gormOrder, gormLine and gormTag are the tables of a saver, with keys of the type K.
type gormOrder[K comparable] struct {
	ID     K `gorm:"primaryKey"`
	Amount int64
	Lines  []gormLine[K] `gorm:"foreignKey:OrderID"`
}

type gormLine[K comparable] struct {
	ID      K `gorm:"primaryKey"`
	OrderID K
	Amount  int64
	Tags    []gormTag[K] `gorm:"foreignKey:LineID"`
}

type gormTag[K comparable] struct {
	ID     K `gorm:"primaryKey"`
	LineID K
	Amount int64
}

func (gormOrder[K]) TableName() string { return "graph_order_" + kindOfKey[K]() }
func (gormLine[K]) TableName() string  { return "graph_line_" + kindOfKey[K]() }
func (gormTag[K]) TableName() string   { return "graph_tag_" + kindOfKey[K]() }

func (o *gormOrder[K]) BeforeCreate(*gorm.DB) error { return makeUUID(&o.ID) }
func (l *gormLine[K]) BeforeCreate(*gorm.DB) error  { return makeUUID(&l.ID) }
func (t *gormTag[K]) BeforeCreate(*gorm.DB) error   { return makeUUID(&t.ID) }

func kindOfKey[K comparable]() string {
	switch any(*new(K)).(type) {
	case int64:
		return "auto"
	case snowflake.ID:
		return "snowflake"
	default:
		return "uuidv7"
	}
}

// bytesUUID is a UUID in 16 bytes, on databases whose drivers know no UUIDs.
type bytesUUID struct{ uuid.UUID }

// Value returns the 16 bytes.
func (u bytesUUID) Value() (driver.Value, error) { return u.UUID[:], nil }

// makeUUID sets a key that the application makes in a hook. The others are made by the plugin or the database.
func makeUUID(key any) (err error) {
	switch k := key.(type) {
	case *uuid.UUID:
		*k, err = uuid.NewV7()
	case *bytesUUID:
		k.UUID, err = uuid.NewV7()
	}
	return err
}
