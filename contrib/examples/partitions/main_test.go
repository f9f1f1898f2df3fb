package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func TestTheMonthBeyondTheRetentionIsDropped(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "sqlite" { // has no partitions
			return
		}

		now := time.Now().UTC()
		var out strings.Builder
		if err := run(t.Context(), gormdb.Dialector(target), &out); err != nil {
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
	})
}
