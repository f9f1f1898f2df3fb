package readme_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/readme"
)

var update = flag.Bool("update", false, "rewrite the code and the tables in the Markdown files from what they refer to")

const root = "../.."

func TestMarkdownShowsCompiledCode(t *testing.T) {
	for _, name := range markdownFiles(t) {
		content := read(t, name)
		included, different, err := readme.Include(content, os.DirFS(root))
		updated, code, fault := readme.Sync(included, os.DirFS(root))
		if err := errors.Join(err, fault); err != nil {
			t.Errorf("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n\t"+name+": "))
		}
		if different = append(different, code...); len(different) == 0 {
			continue
		}
		if !*update {
			t.Errorf("%s: %s\nrun: go test ./internal/readme -update", name, strings.Join(different, "\n\t"))
			continue
		}
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(updated), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestLinkTargetsExist(t *testing.T) {
	for _, name := range markdownFiles(t) {
		broken, err := readme.BrokenLinks(name, os.DirFS(root))
		if err != nil || len(broken) > 0 {
			t.Errorf("%s: %s, error %v", name, strings.Join(broken, "\n\t"), err)
		}
	}
}

func TestReadmeIsOnePage(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 220 {
		t.Errorf("README.md has %d lines, want at most 220; details go into the README of the package they describe", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// markdownFiles returns the paths of the repository's Markdown files.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "README.md") {
		t.Fatalf("no README.md among %q", files)
	}
	return files
}
