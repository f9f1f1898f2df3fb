package sqltypes_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// author and book are models whose keys are of the type K.
type author[K any] struct {
	ID    K
	Email string    `gorm:"size:50;uniqueIndex"`
	Books []book[K] `gorm:"foreignKey:AuthorID"`
}

func (author[K]) TableName() string { return "authors" }

type book[K any] struct {
	ID       K
	AuthorID K
	SequelID *K // NULL
	Title    string
}

func (book[K]) TableName() string { return "books" }

// statementLog keeps the statements that GORM runs.
type statementLog struct {
	logger.Interface
	statements []string
}

func (l *statementLog) LogMode(logger.LogLevel) logger.Interface { return l }

func (l *statementLog) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	l.statements = append(l.statements, statement)
}

// firstKey is the time of the first key of a test.
var firstKey = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// openGORM opens a handle with the plugin, and creates the tables of the models.
func openGORM(t *testing.T, target testdb.Target, models ...any) (*gorm.DB, *statementLog) {
	t.Helper()
	log := &statementLog{Interface: logger.Discard}
	db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: log}, gormplugin.New(gormtest.New(snowflake.Default(), firstKey, time.Millisecond)))
	noError(t, err)
	pool, err := db.DB()
	noError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	noError(t, db.AutoMigrate(models...))
	return db, log
}

// noError fails the test on an error.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestColumnsAreKeysOfGORMModels(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Run("Strict", func(t *testing.T) { testGORMKeys[sqltypes.Strict](t, target) })
		t.Run("Text", func(t *testing.T) { testGORMKeys[sqltypes.Text](t, target) })
		t.Run("UUID", func(t *testing.T) {
			target.NeedMariaDB(t, "the type uuid")
			testGORMKeys[uuidkey.ID](t, target)
		})
	})
}

func testGORMKeys[K idValue, P idPointer[K]](t *testing.T, target testdb.Target) {
	db, log := openGORM(t, target, &author[K]{}, &book[K]{})
	t.Cleanup(func() { _ = db.Migrator().DropTable(&book[K]{}, &author[K]{}) })

	authors := []author[K]{
		{Email: "a", Books: []book[K]{{Title: "a1"}, {Title: "a2"}}},
		{Email: "b", Books: []book[K]{{Title: "b1"}}},
		{Email: "c"},
	}
	noError(t, db.Create(&authors).Error)
	first, last := authors[0], authors[2]
	if first.ID == 0 || first.ID >= authors[1].ID || authors[1].ID >= last.ID {
		t.Fatalf("keys: %d, %d, %d, want them filled in order", first.ID, authors[1].ID, last.ID)
	}
	var back []author[K]
	noError(t, db.Preload("Books").Order("id").Find(&back).Error)
	if len(back) != 3 || back[0].ID != first.ID || back[2].ID != last.ID || !reflect.DeepEqual(back[0].Books, first.Books) {
		t.Fatalf("read back: %+v, want %+v", back, authors)
	}
	for what, query := range map[string]*gorm.DB{
		"a map":    db.Where(map[string]any{"id": []K{first.ID, last.ID}}),
		"a struct": db.Where(&author[K]{ID: first.ID}).Or(&author[K]{ID: last.ID}),
		"a range":  db.Where("id >= ? AND id <= ?", first.ID, last.ID).Where("id <> ?", authors[1].ID),
		"keys":     db.Where([]K{first.ID, last.ID}),
		"two keys": db.Where(first.ID, last.ID),
	} {
		var found []K
		noError(t, query.Model(&author[K]{}).Order("id").Pluck("id", &found).Error)
		if !slices.Equal(found, []K{first.ID, last.ID}) {
			t.Errorf("with %s: %d", what, found)
		}
	}

	// An upsert that finds a row returns its key.
	met := author[K]{Email: "b"}
	noError(t, db.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"email"}),
	}).Create(&met).Error)
	if met.ID != authors[1].ID {
		t.Errorf("after an upsert the key is %d, want %d", met.ID, authors[1].ID)
	}
	wantNoMigration(t, db, log, &author[K]{}, &book[K]{})
}

// wantNoMigration checks that a second AutoMigrate changes nothing.
func wantNoMigration(t *testing.T, db *gorm.DB, log *statementLog, models ...any) {
	t.Helper()
	log.statements = nil
	noError(t, db.AutoMigrate(models...))
	for _, statement := range log.statements {
		if strings.HasPrefix(statement, "ALTER") || strings.HasPrefix(statement, "CREATE") {
			t.Errorf("the second AutoMigrate runs %s", statement)
		}
	}
}

// The conditions of gormplugin are integers.
func TestConditionsOnIntegersRejectColumns(t *testing.T) {
	db, _ := openGORM(t, testdb.SQLite(t))
	for _, rows := range []any{&[]author[sqltypes.Text]{}, &[]author[uuidkey.ID]{}} {
		for _, condition := range []clause.Expression{gormplugin.CreatedSince(firstKey), gormplugin.Page{Limit: 1}} {
			if err := db.Clauses(condition).Find(rows).Error; !errors.Is(err, schema.ErrUnsupportedDataType) {
				t.Errorf("%T of %T: %v, want %v", condition, rows, err, schema.ErrUnsupportedDataType)
			}
		}
	}
}

// The documented column types, with and without tags.
func TestColumnsHaveTheirColumnsInGORM(t *testing.T) {
	type plain struct {
		ID   sqltypes.Text
		UUID uuidkey.ID
	}

	type sized struct {
		ID     sqltypes.Text `gorm:"size:13"`
		Parent *uuidkey.ID
	}

	type tagged struct { // not for PostgreSQL
		ID     sqltypes.Text `gorm:"type:char(13);size:13"`
		Parent *uuidkey.ID   `gorm:"type:char(36);size:36"`
	}

	want := map[string]map[any][]string{
		"sqlite": {
			&plain{}: {"text", "uuid"}, &sized{}: {"text", "uuid"}, &tagged{}: {"char(13)", "char(36)"},
		},
		"postgres": {
			&plain{}: {"character varying(64)", "uuid"}, &sized{}: {"character varying(13)", "uuid"},
		},
		"mariadb": {
			&plain{}: {"varchar(64)", "uuid"}, &sized{}: {"varchar(13)", "uuid"},
			&tagged{}: {"char(13)", "char(36)"},
		},
	}

	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for model, types := range want[target.Name] {
			if _, ok := model.(*tagged); target.IsMySQL() && !ok {
				continue // MySQL has no type uuid
			}

			db, log := openGORM(t, target, model)
			columns, err := db.Migrator().ColumnTypes(model)
			noError(t, err)
			for i, column := range columns {
				if got, _ := column.ColumnType(); got != types[i] {
					t.Errorf("%T: %s is %s, want %s", model, column.Name(), got, types[i])
				}
			}

			if key, _ := columns[0].PrimaryKey(); !key {
				t.Errorf("%T has no primary key", model)
			}

			wantNoMigration(t, db, log, model)
		}
	})
}

type branch struct {
	ID       snowflake.ID
	ParentID sqltypes.Null
	Parent   *branch
	Children []branch `gorm:"foreignKey:ParentID"`
}

func TestNullIsAnOptionalForeignKeyInGORM(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, _ := openGORM(t, target, &branch{})
		columns, err := db.Migrator().ColumnTypes(&branch{})
		noError(t, err)
		for _, column := range columns {
			nullable, ok := column.Nullable()
			if name := column.DatabaseTypeName(); column.Name() == "parent_id" &&
				(!ok || !nullable || name != "bigint" && name != "int8") {
				t.Errorf("parent_id is a %s, nullable %v, want a bigint that may be NULL", name, nullable)
			}
		}

		// All three databases enforce the foreign key, so 0 instead of NULL would be an error.
		root := branch{Children: []branch{{}, {}}}
		noError(t, db.Create(&root).Error)
		leaf := branch{Parent: &branch{}}
		noError(t, db.Create(&leaf).Error)
		if leaf.ParentID != sqltypes.NullFrom(leaf.Parent.ID) || root.Children[0].ParentID != sqltypes.NullFrom(root.ID) {
			t.Errorf("the foreign keys are not set: %+v, %+v", leaf, root)
		}

		var roots []branch
		noError(t, db.Where("parent_id IS NULL").Preload("Children.Parent").Order("id").Find(&roots).Error)
		if len(roots) != 2 || len(roots[0].Children) != 2 || len(roots[1].Children) != 1 || roots[0].ParentID.Valid ||
			roots[1].Children[0].Parent.ID != leaf.Parent.ID {
			t.Errorf("the roots are %+v", roots)
		}
	})
}

type team struct {
	ID      snowflake.ID
	Members idArray
}

func TestArrayIsABigintArrayColumnInGORM(t *testing.T) {
	db, log := openGORM(t, testdb.Postgres(t), &team{})
	wantNoMigration(t, db, log, &team{})
	columns, err := db.Migrator().ColumnTypes(&team{})
	noError(t, err)
	if name, _ := columns[1].ColumnType(); name != "bigint[]" {
		t.Errorf("the column is a %s, want bigint[]", name)
	}

	var teams, got []team
	for i, test := range someArrays {
		teams = append(teams, team{ID: snowflake.ID(i + 1), Members: test.array})
	}

	noError(t, db.Create(&teams).Error)
	noError(t, db.Order("id").Find(&got).Error)
	if !reflect.DeepEqual(got, teams) { // nil and empty differ
		t.Errorf("%#v was read back as %#v", teams, got)
	}
}
