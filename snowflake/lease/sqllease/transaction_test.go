package sqllease_test

import (
	"database/sql"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
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
		db          sqllease.DB
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
		if _, err := sqllease.New(test.db, sqllease.SQLite); errors.Is(err, lease.ErrOption) != test.transaction {
			t.Errorf("New of a %s: %v", name, err)
		}
	}
}
