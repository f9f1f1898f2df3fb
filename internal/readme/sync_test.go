package readme_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlflake/sqlflake/internal/readme"
)

const fixture = "package a_test\n" + `
import "fmt"

// user is a row.
type user struct {
	ID   int64
	Name string
} // as stored

const (
	first = 1
	last  = 9
)

func ExamplePrint() {
	for i := range 2 {
		fmt.Println(i)
	}

	fmt.Print(` + "`raw\n\tline\n`" + `)
	// Output:
	// 0
	// 1
	// raw
	// 	line
}

func ExampleSilent() { fmt.Println() }

// greet says hello.
func greet(u user) string {
	return "hello " + u.Name
}

func (u user) ExampleMethod() {}
`

func fixtures() fstest.MapFS {
	return fstest.MapFS{
		"a/example_test.go": {Data: []byte(fixture)},
		"a/broken.go":       {Data: []byte("package a\nfunc {")},
		"a/main.go":         {Data: []byte("package main\n\nfunc main() {}\n")},
	}
}

const printBody = "for i := range 2 {\n\tfmt.Println(i)\n}\n\nfmt.Print(`raw\n\tline\n`)\n// Output:\n// 0\n// 1\n// raw\n// \tline\n"

func TestExtractedCode(t *testing.T) {
	const userDecl = "// user is a row.\ntype user struct {\n\tID   int64\n\tName string\n} // as stored\n"
	for _, tt := range []struct {
		name  string
		file  string
		names []string
		want  string
	}{
		{"the body of an example", "a/example_test.go", []string{"ExamplePrint"}, printBody},
		{"a type with its comments", "a/example_test.go", []string{"user"}, userDecl},
		{"a group of constants", "a/example_test.go", []string{"last"}, "const (\n\tfirst = 1\n\tlast  = 9\n)\n"},
		{
			"a function", "a/example_test.go",
			[]string{"greet"},
			"// greet says hello.\nfunc greet(u user) string {\n\treturn \"hello \" + u.Name\n}\n",
		},
		{"two names in the order given", "a/example_test.go", []string{"user", "ExamplePrint"}, userDecl + "\n" + printBody},
		{"a whole file", "a/main.go", nil, "package main\n\nfunc main() {}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readme.Extract(tt.file, fixtures()[tt.file].Data, tt.names)
			if err != nil || got != tt.want {
				t.Errorf("error %v, got:\n%s\nwant:\n%s", err, got, tt.want)
			}
		})
	}
}

func TestDifferentCodeIsReportedAndReplaced(t *testing.T) {
	const before = "# A\n\n<!-- example: a/example_test.go ExamplePrint -->\n\n```go\nold\n```\n\n```sh\nls\n```\n"
	updated, different, err := readme.Sync(before, fixtures())
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(before, "old\n", printBody, 1); updated != want {
		t.Errorf("updated:\n%s\nwant:\n%s", updated, want)
	}
	if want := []string{"line 5: the block differs from a/example_test.go ExamplePrint"}; !slices.Equal(different, want) {
		t.Errorf("different: %q, want %q", different, want)
	}
	again, different, err := readme.Sync(updated, fixtures())
	if again != updated || different != nil || err != nil {
		t.Errorf("the second time: %q, error %v, text:\n%s", different, err, again)
	}
}

func TestTextWithoutGoIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "no newline at the end", "# A\r\n\r\n```sh\r\nls\r\n```\r\n", "```\n```go\n```\n", "<!-- a comment -->\n",
	} {
		updated, different, err := readme.Sync(text, fixtures())
		if updated != text || different != nil || err != nil {
			t.Errorf("%q became %q, different %q, error %v", text, updated, different, err)
		}
	}
}

func TestFaultsAreNamedWithTheirLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"\n```go\nx\n```\n", "line 2: Go code without <!-- example: FILE NAME --> before it"},
		{"```golang\nx\n```\n", "line 1: Go code without"},
		{"<!-- example: a/main.go -->\ntext\n```go\nx\n```\n", "line 1: no block follows the reference"},
		{"<!-- example: a/main.go -->\ntext\n```go\nx\n```\n", "line 3: Go code without"},
		{"<!-- example: a/main.go -->\n", "line 1: no block follows the reference"},
		{"<!-- example: a/main.go -->\n<!-- example: a/none.go -->\n```go\n```\n", "line 1: no block follows the reference"},
		{"<!-- example: a/main.go -->\n```sh\nls\n```\n", "line 2: the block after a reference is not ```go"},
		{"<!-- example: a/main.go -->\n```go\nx\n", "line 2: the block has no end"},
		{"<!--example a/main.go-->\n", "line 1: want <!-- example: FILE.go NAME... -->"},
		{"<!-- example: a/none.go X -->\n```go\n```\n", "line 1: open a/none.go: file does not exist"},
		{"<!-- example: a/main.go X -->\n```go\n```\n", "line 1: a/main.go has no X"},
		{"<!-- example: a/example_test.go ExampleMethod -->\n```go\n```\n", "line 1: a/example_test.go has no ExampleMethod"},
		{"<!-- example: a/example_test.go ExampleSilent -->\n```go\n```\n", "line 1: a/example_test.go: ExampleSilent has no // Output:"},
		{"<!-- example: a/broken.go X -->\n```go\n```\n", "line 1: a/broken.go:2:6:"},
	} {
		updated, _, err := readme.Sync(tt.text, fixtures())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.want)
		}
		if updated != tt.text {
			t.Errorf("%q became %q", tt.text, updated)
		}
	}
}
