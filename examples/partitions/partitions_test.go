package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// line is a line of the comparison.
type line struct{ before, after, log, sizeBefore, sizeAfter int64 }

var lineForm = regexp.MustCompile(`(?m)^ +(.*[a-z]) +(\d+) +(\d+) +\S+ +(\d+) B +(\d+) kB +(\d+) kB *$`)

// compared returns the lines of the comparison, by what removed the rows.
func compared(t *testing.T, out string) map[string]line {
	t.Helper()
	lines := make(map[string]line)
	for _, match := range lineForm.FindAllStringSubmatch(out, -1) {
		var n [5]int64
		for i, text := range match[2:] {
			var err error
			if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		lines[strings.TrimSpace(match[1])] = line{n[0], n[1], n[2], n[3], n[4]}
	}
	if len(lines) != 2 {
		t.Fatalf("%d lines of a comparison in\n%s", len(lines), out)
	}
	return lines
}

func TestAMonthIsRemovedBothWaysOnEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		way, args := "DROP of a partition", []string{"-rows", "30000", "-dsn", target.DSN}
		if target.Name == "sqlite" {
			temp := t.TempDir()
			for _, variable := range []string{"TMPDIR", "TMP"} { // the second on Windows
				t.Setenv(variable, temp)
			}
			way, args = "a file per month", args[:2]
		}
		// The log of a server has what other tests write too, so it counts in the quietest of some runs.
		for attempt := 1; ; attempt++ {
			var out strings.Builder
			if err := run(t.Context(), args, &out); err != nil {
				t.Fatalf("%v, printed\n%s", err, out.String())
			}
			lines := compared(t, out.String())
			for _, line := range lines {
				if line.before != 30_000 || line.after != 20_000 {
					t.Fatalf("%d rows before and %d after, want 30000 and 20000:\n%s", line.before, line.after, out.String())
				}
			}
			deleted, dropped := lines["DELETE by the key"], lines[way]
			if deleted.sizeAfter < deleted.sizeBefore || dropped.sizeAfter >= dropped.sizeBefore {
				t.Fatalf("only DROP makes the files smaller, printed\n%s", out.String())
			}
			checkNothingIsLeft(t, target, out.String())
			if dropped.log < deleted.log {
				break
			}
			if attempt == 20 {
				t.Fatalf("DROP has written as much as DELETE:\n%s", out.String())
			}
		}
	})
}

var schemaForm = regexp.MustCompile(`(?m)^schema: (.+)$`)

func checkNothingIsLeft(t *testing.T, target testdb.Target, out string) {
	t.Helper()
	if target.Name == "sqlite" {
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, error %v", left, err)
		}
		return
	}
	schema := schemaForm.FindStringSubmatch(out)
	if schema == nil {
		t.Fatalf("printed no schema:\n%s", out)
	}
	var n int
	query := "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '" + schema[1] + "'"
	if err := target.Open(t).QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d schemas with the name %s are left, error %v", n, schema[1], err)
	}
}

func TestTheMonthsAreThoseThatTheMaintenanceCountsBack(t *testing.T) {
	for now, want := range map[string]string{
		"2026-11-22 18:00:00": "2026-08 2026-09 2026-10 2026-11",
		"2026-03-31 12:00:00": "2025-12 2026-01 2026-02 2026-03",
		"2026-12-01 00:59:59": "2026-08 2026-09 2026-10 2026-11", // within the grace
		"2026-12-01 01:00:00": "2026-09 2026-10 2026-11 2026-12",
	} {
		at, err := time.Parse(time.DateTime, now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, month := range lastMonths(at) {
			got = append(got, month.Format("2006-01"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %s: %v, want %s", now, got, want)
		}
	}
}

func TestBadArgumentsAreExplained(t *testing.T) {
	for args, want := range map[string]string{
		"extra":         `unexpected argument "extra"`,
		"-colour":       "flag provided but not defined",
		"-rows 2":       "-rows 2 out of range [3, 10000000]",
		"-dsn nonsense": "open the database",
		"-dsn postgres://u:secret@127.0.0.1:1/test": "open the database",
	} {
		var out strings.Builder
		err := run(t.Context(), strings.Fields(args), &out)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-h"}, &out); err == nil || !strings.Contains(out.String(), "For example") {
		t.Errorf("-h: error %v, printed %q", err, out.String())
	}
}
