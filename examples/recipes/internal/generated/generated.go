// Package generated tests recipes whose generated code is not in the repository.
package generated

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

// Test copies the current folder, which is called name in the module, generates code in the copy with the arguments of
// the go command, and runs the tests of the package there.
func Test(t *testing.T, name, tests string, generate ...string) {
	t.Helper()
	module := t.TempDir()
	dir := filepath.Join(module, name)
	exampletest.Must(t, os.CopyFS(dir, os.DirFS(".")))

	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile("../" + file)
		exampletest.Must(t, err)
		exampletest.Must(t, os.WriteFile(filepath.Join(module, file), content, 0o600))
	}

	root, err := filepath.Abs("../../..")
	exampletest.Must(t, err)
	for _, args := range [][]string{
		{"mod", "edit", "-replace=github.com/sqlflake/sqlflake=" + root},
		generate,
		{"test", tests},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
