//go:build !race

package libraries

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated tables of README.md")

const readme = "../README.md"

// table is one of the README's that a test generates, between two comments with its name.
type table struct {
	head []string
	rows [][]string
}

func newTable(first, last string) *table { return &table{head: []string{first, last}} }

// addColumn adds a column before the last one.
func (t *table) addColumn(name string) { t.head = slices.Insert(t.head, len(t.head)-1, name) }

// addRow adds a row, or the name alone to the row above if all else is equal.
func (t *table) addRow(name, last string, cells []string) {
	row := slices.Concat([]string{name}, cells, []string{last})
	if n := len(t.rows); n > 0 && slices.Equal(t.rows[n-1][1:], row[1:]) {
		t.rows[n-1][0] += ", " + name
		return
	}
	t.rows = append(t.rows, row)
}

func (t *table) String() string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	line(slices.Repeat([]string{"---"}, len(t.head)))
	for _, row := range t.rows {
		line(row)
	}
	return out.String()
}

// check compares the table with the README, or replaces it there.
func (t *table) check(test *testing.T, name string) {
	test.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		test.Fatal(err)
	}

	begin, end := "<!-- table: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	former, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		test.Fatalf("%s has no %s with an end", readme, begin)
	case former == t.String():
	case !*update:
		test.Errorf("%s: the table %q is another; run: go test ./internal/compat/libraries -update", readme, name)
	default:
		if err := os.WriteFile(readme, []byte(before+begin+t.String()+end+after), 0o600); err != nil {
			test.Error(err)
		}
	}
}
