package sqlfunc_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func TestScriptsAreUnchanged(t *testing.T) {
	with := func(options ...sqlfunc.Option) []sqlfunc.Option { return options }
	for name, test := range map[string]struct {
		layout  snowflake.Layout
		dialect sqldb.Dialect
		options []sqlfunc.Option
	}{
		"postgres_default": {snowflake.Default(), sqldb.Postgres, with(sqlfunc.WithWorker(1023))},
		"postgres_sonyflake": {
			preset("sonyflake"), sqldb.Postgres, with(sqlfunc.WithWorker(65535), sqlfunc.WithLeaseTables("jobs.shop_", "o'clock")),
		},
		"mariadb_default": {snowflake.Default(), sqldb.MySQL, nil},
	} {
		f, err := sqlfunc.New(test.layout, test.options...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Script(test.dialect)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".sql")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); got != string(want) || err != nil {
			t.Errorf("%s differs, %v (go test -update rewrites it):\n%s", path, err, got)
		}
	}
}

// The script is sent as psql and migration tools send the text of a file.
func TestPostgresScriptRuns(t *testing.T) {
	db := openPostgres(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTables("", "shop"))
	script, err := f.Script(sqldb.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	db.exec(t, script, script)
	if err := snowflake.Default().Validate(scan[snowflake.ID](t, db, "SELECT snowflake_next()")); err != nil {
		t.Error(err)
	}
}
