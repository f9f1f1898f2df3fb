package scenario

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// quiet is a logger that prints nothing, not even slow statements.
var quiet = logger.Discard

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
	"uuidv4-text": modelOf(func(a GormAccount) gormUUIDv4 { return gormUUIDv4{GormUUID: GormUUID{GormAccount: a}} }),
	"uuidv7-text": modelOf(func(a GormAccount) gormUUIDv7 { return gormUUIDv7{GormUUID: GormUUID{GormAccount: a}} }),
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

// GormUUID is gorm.Model with a UUID key.
type GormUUID struct {
	ID        string `gorm:"primaryKey;size:36"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	GormAccount
}

type gormUUIDv4 struct{ GormUUID }

// BeforeCreate sets the key.
func (u *gormUUIDv4) BeforeCreate(*gorm.DB) error {
	id, err := uuid.NewRandom()
	u.ID = id.String()
	return err
}

type gormUUIDv7 struct{ GormUUID }

// BeforeCreate sets the key.
func (u *gormUUIDv7) BeforeCreate(*gorm.DB) error {
	id, err := uuid.NewV7()
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
			if n == 1 {
				one := numbered(first)
				return db.Create(&one).Error
			}
			rows := make([]T, n)
			for i := range rows {
				rows[i] = numbered(first + i)
			}
			return db.Create(&rows).Error
		},
	}
}
