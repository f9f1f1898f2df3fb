package readme_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlflake/sqlflake/internal/readme"
)

func TestIncludedTextIsThatOfTheFile(t *testing.T) {
	root := fstest.MapFS{"a/table.md": {Data: []byte("| a |\n|---|\n")}}
	const current = "# Title\n\n<!-- include: a/table.md -->\n\n| a |\n|---|\n\n<!-- end -->\nrest\n"
	for _, test := range []struct{ name, in string }{
		{"current", current},
		{"old", "# Title\n\n<!-- include: a/table.md -->\n| b |\n<!-- end -->\nrest\n"},
		{"empty", "# Title\n\n<!-- include: a/table.md -->\n<!-- end -->\nrest\n"},
	} {
		out, different, err := readme.Include(test.in, root)
		if out != current || err != nil || (len(different) == 0) != (test.in == current) {
			t.Errorf("%s: %q, %q, %v, want %q", test.name, out, different, err, current)
		}
	}
}

func TestFaultsOfIncludesAreTold(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"<!-- include: a.md -->\n<!-- end -->\n", "line 1: open a.md"},
		{"x\n<!-- include: a.md -->\n", "line 2: no <!-- end --> follows"},
		{"<!-- include: a.md -->\n<!-- include: b.md -->\n<!-- end -->\n", "line 1: no <!-- end --> follows"},
	} {
		out, _, err := readme.Include(test.in, fstest.MapFS{"b.md": {}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %q, %v, want %q", test.in, out, err, test.want)
		}
	}
}
