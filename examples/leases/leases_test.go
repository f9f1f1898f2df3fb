package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func TestItShowsWhatIsHeld(t *testing.T) {
	var out, errs strings.Builder
	if code := run(t.Context(), nil, &out, &errs); code != 0 || errs.String() != "" {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "NAMESPACE") || strings.Count(out.String(), " held ") != 2 || strings.Count(out.String(), " free ") != 1 {
		t.Errorf("printed\n%s", out.String())
	}
}

func TestItReadsEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialect, args := sqllease.SQLite, []string{"-db", target.DSN}
		switch target.Name {
		case "postgres":
			dialect, args = sqllease.Postgres, []string{"-dsn", target.DSN}
		case "mariadb":
			dialect, args = sqllease.MySQL, []string{"-dsn", target.DSN}
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
		var out, errs strings.Builder
		if code := run(t.Context(), append(args, "-json", "-namespace", "orders"), &out, &errs); code != 0 {
			t.Fatalf("exit code %d, %s", code, errs.String())
		}
		var entries []entry
		if err := json.Unmarshal([]byte(out.String()), &entries); err != nil {
			t.Fatal(err)
		}
		if len(entries) != 2 || !entries[0].Held || entries[1].Held || entries[0].Epoch != 1 || entries[0].Until == nil || entries[0].Expires == nil {
			t.Errorf("printed %s", out.String())
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
		var out, errs strings.Builder
		if code := run(t.Context(), strings.Fields(args), &out, &errs); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errs.String(), want)
		}
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "For example") {
		t.Errorf("-h: exit code %d, %q", code, out.String())
	}
}
