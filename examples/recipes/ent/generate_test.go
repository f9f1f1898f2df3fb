package main

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// generated returns the files of package ent and those below it, without the schemas, by their paths.
func generated(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path, "schema/") {
			return err
		}
		content, err := fs.ReadFile(root, path)
		files[path] = string(content)
		return err
	})
	must(t, err)
	return files
}

func TestTheGeneratedCodeIsThatOfTheSchemas(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	must(t, os.CopyFS(filepath.Join(dir, "ent", "schema"), os.DirFS("ent/schema")))
	root, err := filepath.Abs("../../..")
	must(t, err)
	for _, args := range [][]string{
		{"mod", "edit", "-replace=github.com/sqlflake/sqlflake=" + root},
		{"tool", "ent", "generate", "--feature", "sql/upsert", "./ent/schema"}, // as in main.go
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	want, got := generated(t, filepath.Join(dir, "ent")), generated(t, "ent")
	if len(want) < 10 {
		t.Fatalf("only %d files were generated", len(want))
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Errorf("ent/%s is out of date: run go generate .", path)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("ent/%s is not generated: remove it", path)
		}
	}
}
