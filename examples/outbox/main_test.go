package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

var table = regexp.MustCompile(`(?m)^ *(\d+) +- +\(written\)\n *\d+ +(\d+) +up to the newest row\n *(\d+) +(\d+) +up to the bound$`)

func TestOnlyTheReaderWithoutTheBoundLosesRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		var args []string
		if target.Name != "sqlite" {
			args = []string{"-dsn", target.DSN}
		}
		var out strings.Builder
		if err := run(t.Context(), args, &out); err != nil {
			t.Fatal(err)
		}
		m := table.FindStringSubmatch(out.String())
		if m == nil || m[2] == "0" || m[3] != m[1] || m[4] != "0" {
			t.Errorf("want lost rows without the bound only, got\n%s", out.String())
		}
	})
}
