package ent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	_ "github.com/sqlflake/sqlflake/examples/recipes/ent/schema" // so that go test runs again after a change
)

// TestTheShopWorksWithGeneratedCode generates the code in a copy of the module and runs the tests of the shop there.
func TestTheShopWorksWithGeneratedCode(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"schema", "testdata/shop"} {
		exampletest.Must(t, os.CopyFS(filepath.Join(dir, "ent", name), os.DirFS(name)))
	}
	for name, source := range map[string]string{"go.mod": "../go.mod", "go.sum": "../go.sum", "ent/doc.go": "doc.go"} {
		content, err := os.ReadFile(source)
		exampletest.Must(t, err)
		exampletest.Must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	root, err := filepath.Abs("../../..")
	exampletest.Must(t, err)
	for _, args := range [][]string{
		{"mod", "edit", "-replace=github.com/sqlflake/sqlflake=" + root},
		{"generate", "./ent"},
		{"test", "./ent/testdata/shop"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
