package readme

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// A block of Go code is preceded by a comment that names the file and the declarations it is copied from:
//
//	<!-- example: snowflake/example_test.go Example_order -->
//	```go
//	...
//	```
//
// For an Example function the block is the body with its "// Output:" comment; go test does not run an example without
// one. For any other function, type, variable or constant it is the whole declaration with its comment. Several
// declarations are separated by an empty line. Without a name it is the whole file.
var (
	blocks = regexp.MustCompile("(?ms)^(<!-- example: (\\S+\\.go)((?: \\S+)*) -->\n\\s*```go\n)(.*?)(^```$)")
	others = regexp.MustCompile("(?im)^(\\s*```go(lang)?\\s*$|<!--\\s*example\\b.*)") // perhaps misspelled

	outputComment = regexp.MustCompile(`(?im)^\s*//\s*(unordered )?output:`)
)

func TestMarkdownShowsCompiledCode(t *testing.T) {
	for name, content := range markdownFiles(t) {
		updated, err := withCode(content, os.DirFS(root))
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case updated == content:
		case !*update:
			t.Errorf("%s: the code is not that of its source; run: go test ./internal/readme -update", name)
		default:
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(updated), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
}

// withCode returns the Markdown text with the code that its blocks refer to, or an error for each block without a
// reference, reference without a block, and missing file or declaration.
func withCode(markdown string, root fs.FS) (string, error) {
	var errs []error
	for _, m := range others.FindAllString(blocks.ReplaceAllString(markdown, ""), -1) {
		errs = append(errs, fmt.Errorf("%s: want <!-- example: FILE.go NAME... --> and then ```go", strings.TrimSpace(m)))
	}
	updated := blocks.ReplaceAllStringFunc(markdown, func(block string) string {
		m := blocks.FindStringSubmatch(block)
		code, err := extract(root, m[2], strings.Fields(m[3]))
		errs = append(errs, err)
		return m[1] + code + m[5]
	})
	return updated, errors.Join(errs...)
}

// extract returns the named declarations of a Go file.
func extract(root fs.FS, name string, names []string) (string, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil || len(names) == 0 {
		return string(src), err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	text := func(from, to token.Pos) string {
		return string(src[fset.Position(from).Offset:fset.Position(to).Offset])
	}
	var parts []string
	for _, wanted := range names {
		decl, doc := find(file, wanted)
		if decl == nil {
			return "", fmt.Errorf("%s has no %s", name, wanted)
		}
		if fn, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(wanted, "Example") {
			body := strings.ReplaceAll(text(fn.Body.Lbrace+1, fn.Body.Rbrace), "\n\t", "\n")
			if !outputComment.MatchString(body) {
				return "", fmt.Errorf("%s: %s has no // Output: comment, so it is compiled but never run", name, wanted)
			}
			parts = append(parts, strings.Trim(body, "\n")+"\n")
			continue
		}
		start := decl.Pos()
		if doc != nil {
			start = doc.Pos()
		}
		end, _, _ := strings.Cut(text(decl.End(), file.FileEnd), "\n") // a comment may follow on the last line
		parts = append(parts, text(start, decl.End())+end+"\n")
	}
	return strings.Join(parts, "\n"), nil
}

// find returns the top-level declaration of a name with its comment, or nil.
func find(file *ast.File, name string) (ast.Decl, *ast.CommentGroup) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name {
				return d, d.Doc
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return d, d.Doc
				}
				if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == name {
					return d, d.Doc
				}
			}
		}
	}
	return nil, nil
}

const source = `package a_test

// user is a row.
type user struct {
	Name string
} // as stored

func ExamplePrint() {
	for range 1 {
		fmt.Println(1)
	}
	// Output: 1
}

func ExampleSilent() { fmt.Println() }

func (u user) ExampleMethod() {}
`

func TestCodeIsReplacedAndFaultsAreNamed(t *testing.T) {
	root := fstest.MapFS{"a/a_test.go": {Data: []byte(source)}, "a/broken.go": {Data: []byte("package a\nfunc {")}}
	const head, end = "# A\n\n<!-- example: a/a_test.go user ExamplePrint -->\n\n```go\n", "```\n\n```sh\nls\n```\n"
	const code = "// user is a row.\ntype user struct {\n\tName string\n} // as stored\n\n" +
		"for range 1 {\n\tfmt.Println(1)\n}\n// Output: 1\n"
	for _, old := range []string{"", "old\n", code} {
		if got, err := withCode(head+old+end, root); got != head+code+end || err != nil {
			t.Errorf("error %v, got:\n%s\nwant:\n%s", err, got, head+code+end)
		}
	}
	for text, want := range map[string]string{
		"\n```go\nx\n```\n":   "```go: want <!-- example:",
		"```golang\nx\n```\n": "```golang: want",
		"<!-- example: a/a_test.go -->\ntext\n```go\nx\n```\n":    "<!-- example: a/a_test.go -->: want",
		"<!-- example: a/a_test.go -->\n```sh\nls\n```\n":         "<!-- example: a/a_test.go -->: want",
		"<!-- example: a/a_test.go -->\n```go\nx\n":               "```go: want",
		"<!--example a/a_test.go-->\n":                            "<!--example a/a_test.go-->: want",
		"<!-- example: a/none.go X -->\n```go\n```\n":             "open a/none.go: file does not exist",
		"<!-- example: a/a_test.go X -->\n```go\n```\n":           "a/a_test.go has no X",
		"<!-- example: a/a_test.go ExampleMethod -->\n```go\n```": "a/a_test.go has no ExampleMethod",
		"<!-- example: a/a_test.go ExampleSilent -->\n```go\n```": "ExampleSilent has no // Output:",
		"<!-- example: a/broken.go X -->\n```go\n```\n":           "a/broken.go:2:6:",
	} {
		if _, err := withCode(text, root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
