package deps_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sqlflake/sqlflake"

// goCommand runs the go command in a folder and returns its output. The cache of go test does not see files that child
// processes read, so it looks at them first: without that go test would use an old result after a change.
func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	for _, name := range []string{"../../go.mod", "../../snowflake"} {
		err := filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestSnowflakeImportsTheStandardLibraryOnly(t *testing.T) {
	const format = `{{if not .Standard}}{{.ImportPath}} {{.Imports}}{{end}}`
	packages := goCommand(t, "../..", nil, "list", "-deps", "-f", format, "./snowflake/...")
	if !strings.Contains(packages, module+"/snowflake/lease ") {
		t.Errorf("package lease is not among\n%s", packages)
	}
	for line := range strings.Lines(packages) {
		path, _, _ := strings.Cut(line, " ")
		if path != module+"/snowflake" && !strings.HasPrefix(path, module+"/snowflake/") {
			t.Errorf("%s is neither in the standard library nor in snowflake", path)
		}
	}
}

// Whoever imports a package of the root has its versions raised to these. What only a recipe or a test of another library
// needs belongs to another module.
func TestTheRootRequiresTheseModulesOnly(t *testing.T) {
	want := strings.Fields(`github.com/go-sql-driver/mysql github.com/google/uuid github.com/jackc/pgx/v5
		github.com/mattn/go-sqlite3 gorm.io/driver/mysql gorm.io/driver/postgres gorm.io/driver/sqlite gorm.io/gorm`)
	const format = `{{if not (or .Main .Indirect)}}{{.Path}}{{end}}`
	env := []string{"GOWORK=off", "GOFLAGS=-mod=readonly"}
	if got := strings.Fields(goCommand(t, "../..", env, "list", "-m", "-f", format, "all")); !slices.Equal(got, want) {
		t.Errorf("go.mod requires %q, want %q", got, want)
	}
}

// The module cache is empty, and there is no network.
func TestProgramWithSnowflakeAloneDownloadsNothing(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.org/outside\n\ngo 1.25.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + filepath.ToSlash(root) + "\n",
		"main.go": `package main

import (
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

func main() { fmt.Println(snowflake.ID(175928847299117063)) }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"GOMODCACHE=" + t.TempDir(), "GOPROXY=off", "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off"}
	if got := goCommand(t, dir, env, "run", "."); got != "175928847299117063\n" {
		t.Errorf("the program printed %q", got)
	}
}
