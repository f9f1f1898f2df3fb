package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// shown runs the program and returns how many held and free workers it shows.
func shown(t *testing.T, args ...string) (held, free int) {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), args, &out); err != nil || !strings.HasPrefix(out.String(), "NAMESPACE") {
		t.Fatalf("error %v, printed\n%s", err, out.String())
	}
	return strings.Count(out.String(), " held "), strings.Count(out.String(), " free ")
}

func TestItShowsWhatIsHeld(t *testing.T) {
	if held, free := shown(t); held != 2 || free != 1 {
		t.Errorf("%d held and %d free workers, want 2 and 1", held, free)
	}
}

func TestItReadsEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialect, args := sqllease.SQLite, []string{"-db", target.DSN}
		switch target.Name {
		case "postgres":
			dialect, args[0] = sqllease.Postgres, "-dsn"
		case "mariadb":
			dialect, args[0] = sqllease.MySQL, "-dsn"
		default:
			args[1], _, _ = strings.Cut(strings.TrimPrefix(target.DSN, "file:"), "?")
		}
		store, err := sqllease.New(target.Open(t), dialect)
		if err != nil {
			t.Fatal(err)
		}
		if err := demonstrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if held, free := shown(t, append(args, "-namespace", "orders")...); held != 1 || free != 1 {
			t.Errorf("%d held and %d free workers, want 1 and 1", held, free)
		}
		var out strings.Builder
		var entries []lease.Entry
		if err := run(t.Context(), append(args, "-json"), &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out.String()), &entries); err != nil || len(entries) != 3 || !entries[0].Held || entries[0].Token != "" {
			t.Errorf("error %v, printed\n%s", err, out.String())
		}
	})
}

func TestBadArgumentsAreExplained(t *testing.T) {
	for args, want := range map[string]string{
		"-db a -dsn b":       "exclude each other",
		"extra":              `unexpected argument "extra"`,
		"-colour":            "flag provided but not defined",
		"-db /nowhere/at/al": "open the database",
	} {
		var out strings.Builder
		if err := run(t.Context(), strings.Fields(args), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
