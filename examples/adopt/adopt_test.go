package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const (
	sideBySide = `   it gets 1001. Both versions can write at the same time.`
	collide    = `   it gets the snowflake + 1, which the generator may issue next.
   So stop the old writers first, or retry after a duplicate key.`
	refused = `   it is rejected`
	madeUp  = `   SQLite gives it the largest + 1, with or without AUTOINCREMENT: make sure that none is left`

	report = `
1. The old shop: gorm.Model, the database makes the keys.
   users:  1000 with small keys,   0 with snowflakes; 10 of them soft-deleted
   orders: 5000 with small keys,   0 with snowflakes; 500 of them soft-deleted

2. New models: gormplugin.ModelSoftDelete, references of type snowflake.ID.
   AutoMigrate: 0 changes of the schema
   user 17: user 17, with 5 orders that are not deleted

3. A new process inserts a snowflake, then an old one lets the database make a key:
BESIDE
   (Rolled back.)

4. DropAutoIncrement.
   unchanged rows: 6000 of 6000
   a second call: 0 changes of the schema; AutoMigrate: 0
   users:  1000 with small keys,   0 with snowflakes; 10 of them soft-deleted
   orders: 5000 with small keys,   0 with snowflakes; 500 of them soft-deleted

5. 100 users with 2 orders each, and one order of user 17.
   users:  1000 with small keys, 100 with snowflakes; 10 of them soft-deleted
   orders: 5000 with small keys, 201 with snowflakes; 500 of them soft-deleted
   ORDER BY id is the order of creation; every order finds its user
   gormplugin.CreatedBefore(now) finds 201 orders; the 4500 with small keys need another condition
   an order of user 17 in JSON: {"id":"289","user_id":"17"}
   an order of user 17 in JSON: {"id":"(18 digits)","user_id":"17"}

6. A remaining old process lets the database make a key:
AFTERWARDS
`
)

func TestTheShopIsAdoptedOnEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		args, name := []string{"-dsn", target.DSN}, "mysql"
		beside, afterwards := collide, refused
		switch target.Name {
		case "sqlite":
			temp := t.TempDir()
			for _, variable := range []string{"TMPDIR", "TMP"} { // the second on Windows
				t.Setenv(variable, temp)
			}
			args, name, afterwards = nil, "sqlite", madeUp
		case "postgres":
			name, beside = "postgres", sideBySide
		}
		var out, errs strings.Builder
		if code := run(t.Context(), args, &out, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		want := "database: " + name + "\n" + strings.NewReplacer("BESIDE", beside, "AFTERWARDS", afterwards).Replace(report)
		if out.String() != want {
			t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
		}
		if target.Name == "sqlite" {
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, error %v", left, err)
			}
			return
		}
		db, err := open(t.Context(), target.DSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer closeHandle(db)
		if err := ownTables(db); err != nil {
			t.Errorf("after the run: %v", err)
		}
		if err := db.AutoMigrate(&User{}); err != nil {
			t.Fatal(err)
		}
		if code := run(t.Context(), args, &out, &errs); code != 1 || !strings.Contains(errs.String(), "exist already") {
			t.Errorf("with a table of somebody: exit code %d, %s", code, errs.String())
		}
		if !db.Migrator().HasTable(&User{}) {
			t.Error("the table of somebody was removed")
		}
	})
}

func TestBadCommandLineIsExplained(t *testing.T) {
	for args, want := range map[string]string{
		"extra":   `unexpected argument "extra"`,
		"-colour": "flag provided but not defined",
		"-dsn postgres://u:secret@127.0.0.1:1/test": "open the database",
	} {
		var out, errs strings.Builder
		code := run(t.Context(), strings.Fields(args), &out, &errs)
		if code == 0 || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "secret") {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errs.String(), want)
		}
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "For example") {
		t.Errorf("-h: exit code %d, %q", code, out.String())
	}
}
