package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func TestTheMonthBeyondTheRetentionIsDropped(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialector := mysql.New(mysql.Config{Conn: target.Open(t)})
		switch target.Name {
		case "sqlite": // has no partitions
			return
		case "postgres":
			dialector = postgres.New(postgres.Config{Conn: target.Open(t)})
		}
		now := time.Now().UTC()
		var out strings.Builder
		if err := run(t.Context(), dialector, &out); err != nil {
			t.Fatalf("%v, printed\n%s", err, out.String())
		}
		counted := now.Add(-time.Hour) // see run
		month := func(back int) string {
			first := time.Date(counted.Year(), counted.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
			return first.Format("2006-01")
		}
		want := month(2) + " imported\n" + month(1) + " imported\n" + now.Format("2006-01") + " new\n"
		if !strings.HasSuffix(out.String(), "\n"+want) || strings.Contains(out.String(), month(3)+" imported") {
			t.Errorf("printed\n%s\nwant at the end\n%s", out.String(), want)
		}
		if err := run(t.Context(), dialector, &out); err == nil {
			t.Error("a table that existed before was used")
		}
	})
}
