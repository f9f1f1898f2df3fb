package sqldb_test

import (
	"database/sql"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// wrapper is made as the pool of gorm.io/sharding is.
type wrapper struct {
	_ int
	gorm.ConnPool
}

func (*wrapper) Commit() error   { return nil }
func (*wrapper) Rollback() error { return nil }

func TestTransactionsAreRefusedAndPoolsThatLookLikeThemAreNot(t *testing.T) {
	db, tx := &sql.DB{}, &sql.Tx{}
	for name, test := range map[string]struct {
		db          sqldb.DB
		transaction bool
	}{
		"pool":                               {db: db},
		"transaction":                        {db: tx, transaction: true},
		"embedded transaction":               {db: struct{ *sql.Tx }{tx}, transaction: true},
		"transaction of prepared statements": {db: &gorm.PreparedStmtTX{Tx: tx}, transaction: true},
		"wrapped pool":                       {db: &wrapper{ConnPool: &wrapper{ConnPool: db}}},
		"wrapped transaction":                {db: &wrapper{ConnPool: &wrapper{ConnPool: tx}}, transaction: true},
		"wrapper around nothing":             {db: &wrapper{}, transaction: true},
	} {
		if err := sqldb.Validate(test.db, sqldb.SQLite); errors.Is(err, sqldb.ErrInvalid) != test.transaction {
			t.Errorf("Validate of a %s: %v", name, err)
		}
	}
}
