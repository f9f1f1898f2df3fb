package readme

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A block of Go code is preceded by a comment that names the file and the declarations it is copied from:
//
//	<!-- example: snowflake/example_test.go Example_order -->
//	```go
//	...
//	```
//
// For an Example function the block is the body with its "// Output:" comment; go test does not run an example without
// one. For any other function, type, variable or constant it is the whole declaration with its comment, for the name
// import the imports. Several declarations are separated by an empty line. Without a name it is the whole file.
var (
	blocks = regexp.MustCompile("(?ms)^(<!-- example: (\\S+\\.go)((?: \\S+)*) -->\n\\s*```go\n)(.*?)(^```$)")
	others = regexp.MustCompile("(?im)^(\\s*```go(lang)?\\s*$|<!--\\s*example\\b.*)") // perhaps misspelled

	outputComment = regexp.MustCompile(`(?im)^\s*//\s*(unordered )?output:`)
)

func TestMarkdownShowsCompiledCode(t *testing.T) {
	for name, content := range markdownFiles(t) {
		updated, err := withCode(content)
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
func withCode(markdown string) (string, error) {
	var errs []error
	for _, m := range others.FindAllString(blocks.ReplaceAllString(markdown, ""), -1) {
		errs = append(errs, fmt.Errorf("%s: want <!-- example: FILE.go NAME... --> and then ```go", strings.TrimSpace(m)))
	}
	updated := blocks.ReplaceAllStringFunc(markdown, func(block string) string {
		m := blocks.FindStringSubmatch(block)
		code, err := extract(m[2], strings.Fields(m[3]))
		errs = append(errs, err)
		return m[1] + code + m[5]
	})
	return updated, errors.Join(errs...)
}

// extract returns the named declarations of a Go file.
func extract(name string, names []string) (string, error) {
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
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
				if _, ok := spec.(*ast.ImportSpec); ok && name == "import" {
					return d, d.Doc
				}
			}
		}
	}
	return nil, nil
}

var update = flag.Bool("update", false, "rewrite the code in the Markdown files from what it refers to")

const root = "../.."

// markdownFiles returns the contents of the repository's Markdown files by their paths.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			content, err := fs.ReadFile(os.DirFS(root), path)
			files[path] = string(content)
			return err
		}
		return nil
	})
	if err != nil || files["README.md"] == "" {
		t.Fatalf("no README.md among %d files, error %v", len(files), err)
	}

	return files
}

func TestReadmeIsOnePage(t *testing.T) {
	if n := strings.Count(markdownFiles(t)["README.md"], "\n"); n > 160 {
		t.Errorf("README.md has %d lines, want at most 160; details go into the README of the package they describe", n)
	}
}

var (
	codeBlocks = regexp.MustCompile("(?ms)^ *```.*?^ *```\\s*?$")
	codeSpans  = regexp.MustCompile("`[^`\n]*`")
	links      = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	dropped    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`) // what GitHub removes from a heading to make its anchor
)

func TestLinkTargetsExist(t *testing.T) {
	files := markdownFiles(t)
	for name, content := range files {
		prose := codeSpans.ReplaceAllString(codeBlocks.ReplaceAllString(content, ""), "")
		for _, m := range links.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], ":") { // https:, mailto:
				continue
			}

			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}

			if _, err := os.Stat(path.Join(root, target)); err != nil || heading != "" && !hasHeading(files[target], heading) {
				t.Errorf("%s: the target of the link %s does not exist", name, m[1])
			}
		}
	}
}

func hasHeading(markdown, want string) bool {
	for _, m := range headings.FindAllStringSubmatch(codeBlocks.ReplaceAllString(markdown, ""), -1) {
		slug := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == want {
			return true
		}
	}
	return false
}
