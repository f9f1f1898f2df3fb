package conformance

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

// dialect is a kind of database, named as in testdb.
type dialect string

const (
	sqlite   dialect = "sqlite"
	postgres dialect = "postgres"
	mariadb  dialect = "mariadb"
)

// target is a database with one driver or ORM in one of its modes: a row of the tables.
type target struct {
	name    string
	dialect dialect
	via     string // a driver's name for sql.Open, or one of the two below
	options string // added to the DSN
}

const (
	viaPgx  = "native pgx"
	viaGORM = "gorm"
)

var targets = []target{
	{"SQLite", sqlite, "sqlite3", ""},
	{"pgx stdlib", postgres, "pgx", ""},
	{"pgx stdlib, simple protocol", postgres, "pgx", "&default_query_exec_mode=simple_protocol"},
	{"native pgx, cache_statement", postgres, viaPgx, "&default_query_exec_mode=cache_statement"},
	{"native pgx, cache_describe", postgres, viaPgx, "&default_query_exec_mode=cache_describe"},
	{"native pgx, describe_exec", postgres, viaPgx, "&default_query_exec_mode=describe_exec"},
	{"native pgx, exec", postgres, viaPgx, "&default_query_exec_mode=exec"},
	{"native pgx, simple protocol", postgres, viaPgx, "&default_query_exec_mode=simple_protocol"},
	{"lib/pq", postgres, "postgres", ""},
	{"lib/pq, binary_parameters", postgres, "postgres", "&binary_parameters=yes"},
	{"MariaDB", mariadb, "mysql", ""},
	{"MariaDB, interpolateParams", mariadb, "mysql", "&interpolateParams=true"},
	{"GORM on SQLite", sqlite, viaGORM, ""},
	{"GORM on PostgreSQL", postgres, viaGORM, ""},
	{"GORM on PostgreSQL, simple protocol", postgres, viaGORM, "&default_query_exec_mode=simple_protocol"},
	{"GORM on MariaDB", mariadb, viaGORM, ""},
}

// connect opens the target on a database of the test.
func connect(t *testing.T, target target) *session {
	t.Helper()
	database := map[dialect]func(testing.TB) testdb.Target{
		sqlite: testdb.SQLite, postgres: testdb.Postgres, mariadb: testdb.MariaDB,
	}[target.dialect](t)
	database.NeedMariaDB(t, "the table")
	// The data need not survive a power failure.
	database.DSN += target.options + map[dialect]string{
		postgres: "&synchronous_commit=off", mariadb: "&default_storage_engine=MyISAM",
	}[target.dialect]
	s := &session{ctx: t.Context(), dialect: target.dialect}

	switch target.via {
	case viaPgx:
		conn, err := pgx.Connect(t.Context(), database.DSN)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() {
			if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		s.conn = conn
	case viaGORM:
		db, err := gorm.Open(gormdb.Dialector(database), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if s.db, err = db.DB(); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() {
			if err := s.db.Close(); err != nil {
				t.Error(err)
			}
		})
		s.gorm = db.WithContext(t.Context())
	default:
		database.Driver = target.via
		s.db = database.Open(t)
	}

	return s
}
