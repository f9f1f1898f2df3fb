package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository creates a repository with the files and changes to its folder. Its tests use no servers.
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
	for name, value := range map[string]string{
		"SNOWFLAKE_TEST_POSTGRES": "off", "SNOWFLAKE_TEST_MYSQL": "off", "SNOWFLAKE_TEST_REQUIRE": "", "CI": "",
		"GOWORK": "off", "GOFLAGS": "",
	} {
		t.Setenv(name, value)
	}
}

const nestedModule = "module example.org/nested\n\ngo 1.25\n"

func testFile(pkg, body string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Getpid\n\nfunc TestIt(t *testing.T) { %s }\n", pkg, body)
}

func runHere(t *testing.T, args ...string) (output string, code int) {
	var out strings.Builder
	code = run(t.Context(), args, &out, &out)
	return out.String(), code
}

func TestEveryModuleIsTestedAndFailuresAndSkipsAreShown(t *testing.T) {
	repository(t, map[string]string{
		"a/a_test.go":               testFile("a", `t.Log("quiet"); t.Run("sub", func(t *testing.T) { t.Skip("no program") }); t.Run("off", func(t *testing.T) { t.Skip("turned off by X=off") })`),
		"b/b_test.go":               testFile("b", `t.Fatal("broken")`),
		"c/c_test.go":               testFile("c", `no Go`),
		"d/d_test.go":               testFile("d", `go func() { panic("crashed") }(); select {}`),
		"nested/go.mod":             nestedModule,
		"nested/n_test.go":          testFile("nested", `if os.Getenv("SNOWFLAKE_TEST_LONG") == "1" { t.Fatal("it is long") }`),
		"nested/testdata/go.mod":    nestedModule,
		"nested/testdata/d_test.go": testFile("d", `t.Fatal("not a module")`),
	})
	out, code := runHere(t)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{
		"postgres ", "mariadb ", "ok  \tgithub.com/sqlflake/sqlflake/a", "broken", "FAIL\tgithub.com/sqlflake/sqlflake/b", "expected ';', found Go", "panic: crashed",
		"ok  \texample.org/nested", "\n2 tests passed, 2 skipped\n    1 no program (fails in CI)\n        a.TestIt/sub\n    1 turned off by X=off (allowed: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "quiet") || strings.Contains(out, "not a module") {
		t.Errorf("the output of tests that passed, or the tests of testdata:\n%s", out)
	}
	if out, code := runHere(t, "-long", "./nested/..."); code != 1 || !strings.Contains(out, "it is long") || strings.Contains(out, "sqlflake/a") {
		t.Errorf("with -long: exit code %d:\n%s", code, out)
	}
}

func TestPatternsReachTheModulesTheyName(t *testing.T) {
	repository(t, map[string]string{"nested/go.mod": nestedModule, "nested/deep/x/go.mod": nestedModule})
	for pattern, want := range map[string]string{
		"./...":               "[{. [./...]} {nested [./...]} {nested/deep/x [./...]}]",
		"./a/b":               "[{. [./a/b]}]",
		"./nested/deep/...":   "[{nested [./deep/...]} {nested/deep/x [./...]}]",
		"./nested/deep/x/y":   "[{nested/deep/x [./y]}]",
		"./nestedsibling/...": "[{. [./nestedsibling/...]}]",
		"../x":                "[] package \"../x\": want a path such as ./snowflake/... or ./snowflake",
		"snowflake":           "[] package \"snowflake\": want a path such as ./snowflake/... or ./snowflake",
	} {
		suites, err := plan([]string{pattern})
		got := fmt.Sprint(suites)
		if err != nil {
			got += " " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestMissingServersAndMisuseAreExplained(t *testing.T) {
	repository(t, map[string]string{})
	if out, code := runHere(t, "-count=1"); code != exitUsage || !strings.Contains(out, "flag provided but not defined: -count") {
		t.Errorf("an unknown flag: exit code %d:\n%s", code, out)
	}
	t.Setenv("SNOWFLAKE_TEST_POSTGRES", "postgres://127.0.0.1:1/test")
	const want = "(set SNOWFLAKE_TEST_POSTGRES)"
	if out, code := runHere(t); code != 1 || !strings.Contains(out, want) {
		t.Errorf("a missing server: exit code %d:\n%s", code, out)
	}
}

func TestAStrictRunFailsAfterASkipThatIsNotInTheList(t *testing.T) {
	for reason, want := range map[string]int{"no program": 1, "turned off by X=off": 0, "mounting is not permitted": 1} {
		repository(t, map[string]string{"a/a_test.go": testFile("a", fmt.Sprintf("t.Skip(%q)", reason))})
		t.Setenv("CI", "true")
		if out, code := runHere(t); code != want || !strings.Contains(out, "0 tests passed, 1 skipped\n    1 "+reason) {
			t.Errorf("%s: exit code %d, want %d:\n%s", reason, code, want, out)
		}
	}
}
