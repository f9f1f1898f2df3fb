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
		args := []string{"-duration", "1s"}
		if target.Name != "sqlite" {
			args = append(args, "-dsn", target.DSN)
		}
		// Where the machine stands still for longer than the margin, a transaction is as late as the margin does not
		// allow. Then it runs again.
		for try := 1; ; try++ {
			var out strings.Builder
			err := run(t.Context(), args, &out)
			m := table.FindStringSubmatch(out.String())
			if err == nil && m != nil && m[2] != "0" && m[3] == m[1] && m[4] == "0" {
				return
			}
			if try == 5 {
				t.Fatalf("want lost rows without the bound only, got %v\n%s", err, out.String())
			}
		}
	})
}
