package connpool

import (
	"database/sql"
	"testing"

	"gorm.io/gorm"
)

// wrapper is like the pool of gorm.io/sharding is.
type wrapper struct{ gorm.ConnPool }

func (*wrapper) Commit() error   { return nil }
func (*wrapper) Rollback() error { return nil }

func TestThePoolInsideOfAWrapperIsFound(t *testing.T) {
	db, tx := &sql.DB{}, &sql.Tx{}
	prepared, empty := &gorm.PreparedStmtTX{Tx: tx}, &wrapper{}
	for pool, want := range map[gorm.ConnPool]gorm.ConnPool{
		db: db, tx: tx, prepared: prepared, empty: empty,
		&wrapper{&wrapper{db}}: db, &wrapper{&wrapper{tx}}: tx,
	} {
		if inner, transaction := Unwrap(pool); inner != want || transaction != (want != db) {
			t.Errorf("%T: %T, transaction: %v, want %T", pool, inner, transaction, want)
		}
	}
}
