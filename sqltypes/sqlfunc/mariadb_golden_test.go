package sqlfunc_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

var updateMariaDB = flag.Bool("update-mariadb", false, "write the golden files of MariaDB")

func TestMariaDBScriptIsAsReviewed(t *testing.T) {
	for name, tt := range map[string]struct {
		layout  snowflake.Layout
		options []sqlfunc.Option
	}{
		"default":   {snowflake.Default(), []sqlfunc.Option{sqlfunc.WithWorker(1023), sqlfunc.WithLeaseTable("", "it's")}},
		"sonyflake": {preset("sonyflake"), []sqlfunc.Option{sqlfunc.WithWorker(65535), sqlfunc.WithName("sony")}},
		"reading":   {snowflake.Twitter(), nil},
	} {
		f, err := sqlfunc.New(tt.layout, tt.options...)
		if err != nil {
			t.Fatal(err)
		}
		script, err := f.Script(sqllease.MySQL)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "mariadb_"+name+".sql")
		if *updateMariaDB {
			if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if script != string(want) {
			t.Errorf("%s: the script differs; look at the change and run go test -update-mariadb:\n%s", path, script)
		}
	}
}
