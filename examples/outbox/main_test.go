package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The margin is longer than any time that the machine may stand still between an ID and its statement.
func TestEachEventIsDeliveredOnceInTheOrderOfKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		dialector := sqlite.Open(target.DSN + "&_txlock=immediate")
		switch target.Name {
		case "postgres":
			dialector = postgres.Open(target.DSN)
		case "mariadb":
			dialector = mysql.Open(target.DSN)
		}
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // without its event, run would wait for ever
		defer cancel()
		if err := run(ctx, dialector, 6*time.Second, &out); err != nil {
			t.Fatal(err)
		}
		var delivered, stored []snowflake.ID
		for line := range bytes.Lines(out.Bytes()) {
			id, err := snowflake.Parse(string(line[len("event "):bytes.IndexByte(line, ':')]))
			if err != nil {
				t.Fatal(err)
			}
			delivered = append(delivered, id)
		}
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Model(&OutboxEvent{}).Order("id").Pluck("id", &stored).Error; err != nil {
			t.Fatal(err)
		}
		if len(stored) != 10 || !slices.Equal(delivered, stored) {
			t.Errorf("delivered %v, stored %v", delivered, stored)
		}
	})
}
