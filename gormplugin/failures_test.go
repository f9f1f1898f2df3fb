package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// failingAt is a counting generator whose nth call fails.
type failingAt struct {
	counting
	n   int
	err error
}

func (f *failingAt) Fill(ctx context.Context, dst []snowflake.ID) error {
	f.counting.err = nil
	if len(f.calls) == f.n-1 {
		f.counting.err = f.err
	}
	return f.counting.Fill(ctx, dst)
}

func TestAFailureAnywhereLeavesNoRowNoKeyAndAFreeConnection(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) {
				gen := &failingAt{counting: counting{next: firstID}, n: n, err: snowflake.ErrLeaseStalled}
				db, _ := openWith(t, target, gormplugin.New(gen), people()...)
				pool, err := db.DB()
				noError(t, err)
				pool.SetMaxOpenConns(1) // the next statement would wait for a transaction that is left open
				p := newPerson("ada")
				if err := db.Create(&p).Error; !errors.Is(err, snowflake.ErrLeaseStalled) {
					t.Fatalf("error %v, want one that wraps ErrLeaseStalled", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for _, table := range []string{"people", "companies", "passports", "pets", "toys", "tags"} {
					n := int64(-1)
					must(t, db.WithContext(ctx).Table(table).Count(&n))
					equal(t, "rows in "+table, n, 0)
				}
				gen.n = 0
				retry := newPerson("ada")
				must(t, db.Create(&retry))
			})
		})
	}
}
