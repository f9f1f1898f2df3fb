package gormplugin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestAFailureAnywhereLeavesNoRowNoKeyAndAFreeConnection(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		gen := hourly()
		db, _ := openWith(t, target, gormplugin.New(gen), people()...)
		pool, err := db.DB()
		noError(t, err)
		pool.SetMaxOpenConns(1) // the next statement would wait for a transaction that is left open
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		db = db.WithContext(ctx)
		p := newPerson("ada")
		for _, n := range []int{0, 1, 2, 3} { // IDs of the owner and of what is saved before it and after it
			gen.FailAfter(n, snowflake.ErrLeaseStalled)
			if err := db.Create(&p).Error; !errors.Is(err, snowflake.ErrLeaseStalled) {
				t.Fatalf("error %v, want one that wraps ErrLeaseStalled", err)
			}
			for _, table := range []string{"people", "companies", "passports", "pets", "toys", "tags"} {
				n := int64(-1)
				must(t, db.Table(table).Count(&n))
				equal(t, "rows in "+table, n, 0)
			}
			p = newPerson("ada")
		}
		gen.FailAfter(0, nil)
		must(t, db.Create(&p))
	})
}
