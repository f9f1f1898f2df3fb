package gormplugin_test

import (
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// Transactions of several connections share two of the server.
func TestOpenWorksBehindPgBouncer(t *testing.T) {
	target := testdb.PgBouncer(t)
	target.DSN += "&default_query_exec_mode=exec"
	h := openHandle(t, target.Dialector(), gorm.Config{})
	h.leased(t)
	type pooled struct {
		gormplugin.Model

		Name string
	}
	if err := autoMigrate(h.DB, &pooled{}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := h.Transaction(func(tx *gorm.DB) error {
					return tx.Create([]*pooled{{Name: "a"}, {Name: "b"}}).Error
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var rows int64
	if err := h.Model(&pooled{}).Where("id > 0").Count(&rows).Error; err != nil || rows != 2*writers*each {
		t.Errorf("%d rows, %v", rows, err)
	}
}
