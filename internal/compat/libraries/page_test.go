//go:build !race

package libraries

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const pagePath = "../LIBRARIES.md"

var updatePage = flag.Bool("update", false, "write "+pagePath)

// heavyNames are the rows that only a test with the build tag heavy makes.
var heavyNames = []string{"goccy/go-json", "bytedance/sonic", "gin-gonic/gin", "gofiber/fiber/v2"}

// TestPageIsCurrent compares the page with what the libraries do. Without the build tag heavy it skips the rows of the
// libraries that take long to compile.
func TestPageIsCurrent(t *testing.T) {
	for _, lib := range heavy {
		if !slices.Contains(heavyNames, lib.name) {
			t.Errorf("%s is not in heavyNames", lib.name)
		}
	}
	want := page(t)
	if *updatePage {
		if len(heavy) != len(heavyNames) {
			t.Fatal("-update needs -tags heavy")
		}
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.ReplaceAll(string(read), "\r\n", "\n"), "\n")
	if heavy == nil {
		got = slices.DeleteFunc(got, func(line string) bool {
			return slices.ContainsFunc(heavyNames, func(name string) bool { return strings.HasPrefix(line, "| "+name+" ") })
		})
	}
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d of %s is not %q; run go generate in internal/compat/libraries", i+1, pagePath, line)
		}
	}
	if len(got) != strings.Count(want, "\n")+1 {
		t.Errorf("%s has more lines than the libraries make", pagePath)
	}
}

const pageHead = `# The ID types in libraries

<!-- Written by go generate in libraries; edit the tests there instead. -->

How a value of each type travels: what the library writes, and that it reads the same value back. The
[test](libraries) does this with 0 (NULL where a type has it), 1, 2^53+1, an ID that a generator made, and 2^63-1. In
everything that was written with a publicid.ID, and in the errors, it looks for the number in 12 forms, from digits to
varints: no library here shows it.

- **string**: decimal digits, in quotes where the format has them. A token is that of a publicid.ID.
- **int64**: a binary integer, exact, and right for MongoDB and caches. A reader in JavaScript needs a BigInt for it.
- **struct**: an object of the number and a boolean.
- **\***: with the line below the table; without it there is an error, or the value is lost or an int64.
- **✗**: not possible. **·**: not applicable: the library reads single values.

Text, Binary and uuidkey.ID travel as ID does, and the elements of an Array of Typed as Typed. Prefer
*snowflake.ID to a Null where the table has a struct. encoding/json/v2 is tested with the types themselves, by .ci/run
json.

`

var columns = []string{"ID", "Null", "Typed", "publicid.ID", "Array"}

func page(t *testing.T) string {
	var b strings.Builder
	b.WriteString(pageHead)
	var functions []string
	section := func(title string, chosen func(library) bool) {
		fmt.Fprintf(&b, "| %s | %s | line |\n|---%s|---|\n", title, strings.Join(columns, " | "), strings.Repeat("|:-:", len(columns)))
		for _, lib := range all() {
			if !chosen(lib) {
				continue
			}
			fmt.Fprintf(&b, "| %s", lib.name)
			lined := false
			for _, k := range kinds {
				if k.as != "" {
					continue
				}
				r := lib.result(k)
				fmt.Fprintf(&b, " | %s", r.text)
				if r.line {
					fmt.Fprint(&b, " \\*")
					lined = true
				}
			}
			link := ""
			if lined {
				link = fmt.Sprintf("[%s](#%s)", lib.function, strings.ToLower(lib.function))
				functions = append(functions, lib.function)
			}
			fmt.Fprintf(&b, " | %s |\n", link)
		}
		fmt.Fprint(&b, "\n")
	}
	section("writes and reads", func(l library) bool { return l.write != nil && l.read != nil })
	section("writes", func(l library) bool { return l.read == nil })
	section("reads", func(l library) bool { return l.write == nil })
	b.WriteString(schemaPage(t))
	fmt.Fprint(&b, "## Lines\n")
	for _, name := range append(functions, "jsonSchema", "graphQL", "protobuf", "validate") {
		fmt.Fprintf(&b, "\n### %s\n\n```\n%s\n```\n", name, source(t, name))
	}
	return b.String()
}

// source returns the functions below the comment "// lines: NAME" in lines_test.go, up to the next one.
func source(t *testing.T, name string) string {
	const file = "lines_test.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "// lines: "+name+"\n")
	if !found {
		t.Fatalf("%s has no lines %q", file, name)
	}
	rest, _, _ = strings.Cut(rest, "// lines: ")
	return strings.TrimSpace(rest)
}
