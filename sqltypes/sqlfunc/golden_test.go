package sqlfunc_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// golden compares the text with that of a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, got)
	}
}

func TestPostgresScriptIsUnchanged(t *testing.T) {
	odd, err := snowflake.ParseLayout("epoch=1969-12-31T23:59:59.123456789Z tick=7.919µs worker:3 time:52 sequence:8")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		layout  snowflake.Layout
		options []sqlfunc.Option
	}{
		"default": {snowflake.Default(), []sqlfunc.Option{sqlfunc.WithWorker(1023)}},
		"sonyflake": {preset("sonyflake"), []sqlfunc.Option{
			sqlfunc.WithWorker(65535), sqlfunc.WithLeaseTable("jobs.leases", "o'clock"),
		}},
		"mastodon": {preset("mastodon"), []sqlfunc.Option{
			sqlfunc.WithWorker(0), sqlfunc.WithName("status"), sqlfunc.WithSchema("Social"),
		}},
		"odd": {odd, nil},
	} {
		f, err := sqlfunc.New(test.layout, test.options...)
		if err != nil {
			t.Fatal(err)
		}
		script, err := f.Script(sqldb.Postgres)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "postgres_"+name+".sql", script)
	}
}

// The script is sent as psql and migration tools send the text of a file.
func TestPostgresScriptRuns(t *testing.T) {
	db := openPostgres(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTable("", "shop"))
	script, err := f.Script(sqldb.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	conn := db.settings(t)
	for range 2 {
		if err := conn.Raw(func(driver any) error {
			_, err := driver.(*stdlib.Conn).Conn().PgConn().Exec(t.Context(), script).ReadAll()
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); snowflake.Default().Validate(id) != nil {
		t.Errorf("%d: %v", id, snowflake.Default().Validate(id))
	}
}

func TestMariaDBScriptIsUnchanged(t *testing.T) {
	for name, tt := range map[string]struct {
		layout  snowflake.Layout
		options []sqlfunc.Option
	}{
		"default":   {snowflake.Default(), []sqlfunc.Option{sqlfunc.WithWorker(1023), sqlfunc.WithLeaseTable("", "it's")}},
		"sonyflake": {preset("sonyflake"), []sqlfunc.Option{sqlfunc.WithWorker(65535), sqlfunc.WithName("sony")}},
		"reading":   {snowflake.MustPreset("twitter"), nil},
	} {
		f, err := sqlfunc.New(tt.layout, tt.options...)
		if err != nil {
			t.Fatal(err)
		}
		script, err := f.Script(sqldb.MySQL)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "mariadb_"+name+".sql", script)
	}
}
