package readme_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/readme"
)

var update = flag.Bool("update", false, "rewrite the code and the tables in the Markdown files from what they refer to")

const root = "../.."

// TestMarkdownShowsCompiledCode checks README.md and every other Markdown file that refers to code.
func TestMarkdownShowsCompiledCode(t *testing.T) {
	files := markdownFiles(t)
	if len(files) == 0 || files[0] != "README.md" {
		t.Fatalf("no README.md among %q", files)
	}
	for _, name := range files {
		content, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			t.Fatal(err)
		}
		updated, different, err := readme.Include(string(content), os.DirFS(root))
		if name == "README.md" || readme.Refers(string(content)) {
			synced, code, fault := readme.Sync(updated, os.DirFS(root))
			updated, different, err = synced, append(different, code...), errors.Join(err, fault)
		}
		if err != nil {
			t.Errorf("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "\n\t"+name+": "))
		}
		if len(different) == 0 {
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

// markdownFiles returns the paths of the repository's Markdown files, README.md first.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case path == "README.md":
			files = append([]string{path}, files...)
		case strings.HasSuffix(path, ".md"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
