package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
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

// onOneConnection opens a handle whose pool has a single connection, so that a transaction that is left open shows: the
// next statement would wait for ever.
func onOneConnection(t *testing.T, target testdb.Target, gen gormplugin.Generator, models ...any) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: &recorder{}}, gormplugin.New(gen))
	noError(t, err)
	closeAtEnd(t, db)
	pool, err := db.DB()
	noError(t, err)
	pool.SetMaxOpenConns(1)
	noError(t, db.AutoMigrate(models...))
	return db
}

// wantUsable fails if the connection is not free, or the table not as empty as it was.
func wantUsable(t *testing.T, db *gorm.DB, tables ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, table := range tables {
		n := int64(-1)
		if err := db.WithContext(ctx).Table(table).Count(&n).Error; err != nil || n != 0 {
			t.Errorf("rows in %s: %d, error %v, want none", table, n, err)
		}
	}
}

func TestAFailureAnywhereLeavesNoRowNoKeyAndAFreeConnection(t *testing.T) {
	stalled := fmt.Errorf("worker 7: %w", snowflake.ErrLeaseStalled)
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) {
				gen := &failingAt{counting: counting{next: firstID}, n: n, err: stalled}
				db := onOneConnection(t, target, gen, people()...)
				p := newPerson("ada")
				err := db.Create(&p).Error
				if !errors.Is(err, snowflake.ErrLeaseStalled) {
					t.Fatalf("error %v, want one that wraps ErrLeaseStalled", err)
				}
				wantUsable(t, db, "people", "companies", "passports", "pets", "toys", "tags")
				gen.n = 0
				retry := newPerson("ada")
				must(t, db.Create(&retry))
			})
		})
	}
}
