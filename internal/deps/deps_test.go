package deps_test

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// A type of an internal package in an exported signature is a way into the machinery, where no rule of the public
// package holds.
func TestNoExportedNameHasAnInternalType(t *testing.T) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{.DepOnly}} {{.Name}}", "./..."}
	args = append(args, "./contrib/...")
	for _, own := range []string{"etcdlease", "natslease", "otelsnowflake", "promsnowflake", "redislease"} {
		args = append(args, "./contrib/"+own)
	}

	exports, published := map[string]string{}, []string{}
	for line := range strings.Lines(goCommand(t, nil, args...)) {
		f := strings.Fields(line)
		if len(f) != 4 { // no Go files, or package unsafe
			continue
		}
		exports[f[0]] = f[1]
		if f[2] == "false" && f[3] != "main" && !isInternal(f[0]) {
			published = append(published, f[0])
		}
	}
	if !slices.Contains(published, module+"/snowflake/lease") {
		t.Fatalf("package lease is not among %q", published)
	}

	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, path := range published {
		pkg, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if object := pkg.Scope().Lookup(name); object.Exported() {
				for _, found := range internalTypes(object) {
					t.Errorf("%s.%s has the type %s", path, name, found)
				}
			}
		}
	}
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, module+"/") && slices.Contains(strings.Split(path, "/"), "internal")
}

var internalType = regexp.MustCompile(regexp.QuoteMeta(module) + `/(?:[\w/]+/)?internal/[\w/]+\.\w+`)

// internalTypes returns the types of internal packages that a caller meets at an object: in what it is, takes, returns,
// and in its exported fields and methods.
func internalTypes(object types.Object) []string {
	met := []string{types.Unalias(object.Type()).String()}
	if named, ok := object.Type().(*types.Named); ok && object == named.Obj() {
		if fields, ok := named.Underlying().(*types.Struct); ok {
			for f := range fields.Fields() {
				if f.Exported() {
					met = append(met, f.Type().String())
				}
			}
		} else {
			met = append(met, named.Underlying().String())
		}

		for m := range types.NewMethodSet(types.NewPointer(named)).Methods() { // with promoted ones
			if m.Obj().Exported() {
				met = append(met, m.Type().String())
			}
		}
	}

	return internalType.FindAllString(strings.Join(met, "\n"), -1)
}
