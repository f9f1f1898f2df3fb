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

func rootDir(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// readSources opens the files that the go command reads. The cache of go test does not see files that child processes
// read, so without this it would use an old result after a change.
func readSources(t *testing.T) {
	t.Helper()
	for _, name := range []string{"go.mod", "snowflake"} {
		err := filepath.WalkDir(filepath.Join(rootDir(t), name), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// foreignImports returns a line for each direct or indirect import of the pattern's packages that is neither in the
// standard library nor in snowflake/.
func foreignImports(t *testing.T, pattern string) []string {
	t.Helper()
	readSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", `{{if not .Standard}}{{$from := .ImportPath}}{{$from}}{{range .Imports}} {{.}}{{end}}{{end}}`, pattern)
	cmd.Dir = rootDir(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pattern, err)
	}
	ours := map[string]bool{} // packages that are not in the standard library
	var edges [][2]string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		ours[fields[0]] = true
		for _, path := range fields[1:] {
			edges = append(edges, [2]string{fields[0], path})
		}
	}
	var foreign []string
	for _, edge := range edges {
		from, path := edge[0], edge[1]
		if ours[path] && path != module+"/snowflake" && !strings.HasPrefix(path, module+"/snowflake/") {
			foreign = append(foreign, from+" imports "+path)
		}
	}
	return foreign
}

func TestSnowflakeImportsTheStandardLibraryOnly(t *testing.T) {
	for _, line := range foreignImports(t, "./snowflake/...") {
		t.Error(line)
	}
}

// TestForeignImportsAreSeen proves that the test above can fail: gormplugin imports GORM.
func TestForeignImportsAreSeen(t *testing.T) {
	want := module + "/gormplugin imports gorm.io/gorm"
	foreign := foreignImports(t, "./gormplugin")
	if !slices.Contains(foreign, want) {
		t.Errorf("%q is not among %q", want, foreign)
	}
}

// buildOutside builds a program in a separate module that imports one package of this module, without network and with
// an empty module cache. It returns the program's path or the output of the go command.
func buildOutside(t *testing.T, main string) (program, output string, err error) {
	t.Helper()
	readSources(t)
	dir, cache := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.org/outside\n\ngo 1.25.0\n\nrequire " + module + " v0.0.0\n\n" +
			"replace " + module + " => " + filepath.ToSlash(rootDir(t)) + "\n",
		"main.go": main,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, "outside.exe") // the extension is for Windows
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=off", "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	entries, readErr := os.ReadDir(cache)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err == nil && len(entries) > 0 {
		t.Errorf("the module cache, which was empty, now holds %v", entries)
	}
	return program, string(out), err
}

func TestProgramWithSnowflakeAloneDownloadsNothing(t *testing.T) {
	program, out, err := buildOutside(t, `package main

import (
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

func main() { fmt.Println(snowflake.ID(175928847299117063)) }
`)
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if got, err := exec.CommandContext(t.Context(), program).Output(); err != nil || string(got) != "175928847299117063\n" {
		t.Errorf("the program printed %q, error %v", got, err)
	}
}

// TestProgramWithMoreDoesDownload proves that the test above can fail: GORM needs the network.
func TestProgramWithMoreDoesDownload(t *testing.T) {
	_, out, err := buildOutside(t, "package main\n\nimport _ \"github.com/sqlflake/sqlflake/gormplugin\"\n\nfunc main() {}\n")
	if err == nil || !strings.Contains(out, "gorm.io/gorm") {
		t.Errorf("go build: %v\n%s", err, out)
	}
}
