package deps_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sqlflake/sqlflake"

// goCommand runs the go command in the root and returns its output. The cache of go test does not see files that child
// processes read, so it looks at them first: without that go test would use an old result after a change.
func goCommand(t *testing.T, env []string, args ...string) string {
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
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestSnowflakeImportsTheStandardLibraryOnly(t *testing.T) {
	const format = `{{if not .Standard}}{{.ImportPath}} {{.Imports}}{{end}}`
	packages := goCommand(t, nil, "list", "-deps", "-f", format, "./snowflake/...")
	if !strings.Contains(packages, module+"/snowflake/lease ") {
		t.Errorf("package lease is not among\n%s", packages)
	}

	for line := range strings.Lines(packages) {
		path, _, _ := strings.Cut(line, " ")
		isOurs := path == module+"/snowflake" ||
			strings.HasPrefix(path, module+"/snowflake/") || strings.HasPrefix(path, module+"/internal/")
		if !isOurs {
			t.Errorf("%s is neither in the standard library nor in snowflake", path)
		}
	}
}

// The modules of contrib are supplied with the root module, which works without them.
func TestTheRootImportsNothingOfContrib(t *testing.T) {
	const format = `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`
	for line := range strings.Lines(goCommand(t, nil, "list", "-f", format, "./...")) {
		imports := strings.Fields(line)
		for _, path := range imports[1:] {
			if strings.HasPrefix(path, module+"/contrib/") {
				t.Errorf("%s imports %s", imports[0], path)
			}
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
	if got := strings.Fields(goCommand(t, env, "list", "-m", "-f", format, "all")); !slices.Equal(got, want) {
		t.Errorf("go.mod requires %q, want %q", got, want)
	}
}

// Older ones have a known vulnerability: CVE-2026-33815, -33816 and -41889 (pgx), -26958 (edwards25519), -56852 (text).
func TestNoModuleRequiresAVersionWithAKnownVulnerability(t *testing.T) {
	least := map[string][3]int{
		"github.com/jackc/pgx/v5":      {5, 9, 2},
		"filippo.io/edwards25519":      {1, 1, 1},
		"golang.org/x/text":            {0, 39, 0},
		"google.golang.org/grpc":       {1, 79, 3},
		"github.com/redis/go-redis/v9": {9, 8, 0},
	}
	found := 0
	for file := range strings.FieldsSeq(goCommand(t, nil, "list", "-m", "-f", "{{.GoMod}}")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var version [3]int
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " v")
			bound, ok := least[name]
			if !ok {
				continue
			}
			found++
			_, err := fmt.Sscanf(rest, "%d.%d.%d", &version[0], &version[1], &version[2])
			if err != nil || slices.Compare(version[:], bound[:]) < 0 {
				t.Errorf("%s: %s, want at least %v, %v", file, strings.TrimSpace(line), bound, err)
			}
		}
	}
	if found == 0 {
		t.Error("no go.mod has them")
	}
}
