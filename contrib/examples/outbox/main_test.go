package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The margin is longer than any time that the machine may stand still between an ID and its statement.
func TestEachEventIsDeliveredOnceInTheOrderOfKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		if target.Name == "sqlite" {
			target.DSN += "&_txlock=immediate"
		}
		dialector := gormdb.Dialector(target)
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // without its event, run would wait for ever
		defer cancel()
		exampletest.Must(t, run(ctx, dialector, 6*time.Second, &out))
		var delivered, stored []snowflake.ID
		for line := range bytes.Lines(out.Bytes()) {
			id, err := snowflake.Parse(string(line[len("event "):bytes.IndexByte(line, ':')]))
			exampletest.Must(t, err)
			delivered = append(delivered, id)
		}
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		exampletest.Must(t, err)
		exampletest.Must(t, db.Model(&OutboxEvent{}).Order("id").Pluck("id", &stored).Error)
		if len(stored) != 10 || !slices.Equal(delivered, stored) {
			t.Errorf("delivered %v, stored %v", delivered, stored)
		}
	})
}
