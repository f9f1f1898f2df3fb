package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain turns the servers off: the tests here run tests of temporary repositories.
func TestMain(m *testing.M) {
	for _, variable := range []string{"SNOWFLAKE_TEST_POSTGRES", "SNOWFLAKE_TEST_MYSQL", "SNOWFLAKE_TEST_REDIS", "SNOWFLAKE_TEST_BROWSER"} {
		if err := os.Setenv(variable, "off"); err != nil {
			panic(err)
		}
	}
	if err := os.Unsetenv("SNOWFLAKE_TEST_REQUIRE"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// repository creates a repository with the files and changes to its directory.
func repository(t *testing.T, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module github.com/sqlflake/sqlflake\n\ngo 1.25\n"
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
}

const nestedModule = "module example.org/nested\n\ngo 1.25\n"

func testFile(pkg, body string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _, _, _ = fmt.Sprint, os.Getpid, time.Now\n\n%s\n", pkg, body)
}

func runHere(args ...string) (output string, code int) {
	var out bytes.Buffer
	code = run(args, &out, &out)
	return out.String(), code
}

func TestEveryModuleIsTestedAlsoAfterAFailure(t *testing.T) {
	repository(t, map[string]string{
		"a/a_test.go":        testFile("a", "func TestA(t *testing.T) { t.Error(\"in a\") }"),
		"nested/go.mod":      nestedModule,
		"nested/b/b_test.go": testFile("b", "func TestB(t *testing.T) { t.Log(\"in b\") }"),
	})
	out, code := runHere("-v")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"in a", "in b", "postgres ", "mariadb ", "redis "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestLongSetsTheVariable(t *testing.T) {
	repository(t, map[string]string{
		"a/a_test.go": testFile("a", `func TestA(t *testing.T) { t.Logf("long is %q", os.Getenv("SNOWFLAKE_TEST_LONG")) }`),
	})
	if out, _ := runHere("-v", "-long"); !strings.Contains(out, `long is "1"`) {
		t.Errorf("with -long:\n%s", out)
	}
	if out, _ := runHere("-v"); !strings.Contains(out, `long is ""`) {
		t.Errorf("without -long:\n%s", out)
	}
}

func TestRaceIsPassedOn(t *testing.T) {
	repository(t, map[string]string{
		"a/race.go":   "//go:build race\n\npackage a\n\nconst race = true\n",
		"a/norace.go": "//go:build !race\n\npackage a\n\nconst race = false\n",
		"a/a_test.go": testFile("a", "func TestA(t *testing.T) { t.Log(\"race is\", race) }"),
	})
	if out, code := runHere("-v", "-race"); code != 0 || !strings.Contains(out, "race is true") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestEachFuzzTargetRunsAlsoAfterAFailure(t *testing.T) {
	repository(t, map[string]string{
		"a/a_test.go": testFile("a", `
func TestA(t *testing.T) { t.Error("a test ran") }
func FuzzOne(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) { t.Error("bad") }) }
func FuzzOneMore(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) {}) }`),
		"b/b_test.go": testFile("b", `func FuzzTwo(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) {}) }`),
	})
	out, code := runHere("-fuzz", "50x")
	if code != 1 || strings.Contains(out, "a test ran") || strings.Contains(out, "instrumentation") {
		t.Errorf("exit code %d, want 1, no test, and no warning that coverage is unknown:\n%s", code, out)
	}
	for _, want := range []string{"a: -test.fuzz=^FuzzOne$", "a: -test.fuzz=^FuzzOneMore$", "b: -test.fuzz=^FuzzTwo$", "fuzz: elapsed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestBadCommandLineIsExplained(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-fuzz", "10"}, "-fuzz 10: want a positive duration"},
		{[]string{"-fuzz", "-1s"}, "-fuzz -1s: want a positive duration"},
		{[]string{"-fuzz", "0x"}, "-fuzz 0x: want a positive duration"},
		{[]string{"-fuzz", "manyx"}, "-fuzz manyx: want a positive duration"},
		{[]string{"-count=1"}, "flag provided but not defined: -count"},
		{[]string{"github.com/sqlflake/sqlflake/..."}, "want a path such as ./snowflake"},
		{[]string{"../x"}, "want a path such as ./snowflake"},
	} {
		repository(t, map[string]string{})
		if out, code := runHere(tt.args...); code != exitUsage || !strings.Contains(out, "testall: ") || !strings.Contains(out, tt.want) {
			t.Errorf("%q: exit code %d, want %d and %q:\n%s", tt.args, code, exitUsage, tt.want, out)
		}
	}
}

func TestHelpShowsAnExample(t *testing.T) {
	if out, code := runHere("-h"); code != 0 || !strings.Contains(out, "go run ./internal/testall -race ./gormplugin") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestOutsideOfTheRepositoryIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	if out, code := runHere(); code != exitUsage || !strings.Contains(out, "is not in the repository") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestMissingCompilerIsExplained(t *testing.T) {
	repository(t, map[string]string{"a/a_test.go": testFile("a", "func TestA(t *testing.T) {}")})
	t.Setenv("CGO_ENABLED", "0")
	if out, code := runHere(); code != 1 || !strings.Contains(out, "install a C compiler") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
