package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository creates a repository with the files and changes to its folder. Its tests use no servers.
func repository(t *testing.T, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module github.com/sqlflake/sqlflake\n\ngo 1.25\n"
	files["nested/go.mod"] = "module github.com/sqlflake/sqlflake/nested\n\ngo 1.25\n"
	files["go.work"] = "go 1.25\n\nuse (\n\t.\n\t./nested\n)\n"

	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}

	t.Chdir(root)
	for name, value := range map[string]string{
		"SNOWFLAKE_TEST_POSTGRES": "off", "SNOWFLAKE_TEST_MYSQL": "off", "SNOWFLAKE_TEST_REQUIRE": "", "CI": "",
		"GOWORK": "", "GOFLAGS": "",
	} {
		t.Setenv(name, value)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testFile(pkg, body string) string {
	const file = "package %s\n\nimport \"os\"\nimport \"testing\"\n\nvar _ = os.Getpid\n\nfunc TestIt(t *testing.T) { %s }\n"
	return fmt.Sprintf(file, pkg, body)
}

const program = "TESTALL_IS_THE_PROGRAM"

// TestMain lets the test binary be the program itself: a process looks for the servers once.
func TestMain(m *testing.M) {
	if os.Getenv(program) != "" {
		main()
	}
	os.Exit(m.Run())
}

func runHere(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), program+"=1")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestEveryModuleIsTestedAndFailuresAndSkipsAreShown(t *testing.T) {
	const skips = `
		t.Log("quiet")
		t.Run("sub", func(t *testing.T) { t.Skip("no program") })
		t.Run("off", func(t *testing.T) { t.Skip("turned off by X=off") })`
	repository(t, map[string]string{
		"a/a_test.go":            testFile("a", skips),
		"b/b_test.go":            testFile("b", `t.Fatal("broken")`),
		"c/c_test.go":            testFile("c", `no Go`),
		"d/d_test.go":            testFile("d", `go func() { panic("crashed") }(); select {}`),
		"nested/n_test.go":       testFile("nested", `if os.Getenv("SNOWFLAKE_TEST_LONG") == "1" { t.Fatal("it is long") }`),
		"testdata/d/d_test.go":   testFile("d", `t.Fatal("not a package")`),
		"nested/below/b_test.go": testFile("below", ``),
	})

	out, code := runHere(t)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{
		"testing 6 packages, ", " minutes on 2 cores", "postgres ", "mariadb ",
		"ok  \tgithub.com/sqlflake/sqlflake/a", "broken", "FAIL\tgithub.com/sqlflake/sqlflake/b",
		"expected ';', found Go", "panic: crashed", "ok  \tgithub.com/sqlflake/sqlflake/nested",
		"\n3 tests passed, 2 skipped\n    1 no program (fails in CI)\n        a.TestIt/sub\n",
		"\n    1 turned off by X=off (allowed: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "quiet") || strings.Contains(out, "not a package") {
		t.Errorf("the output of tests that passed, or the tests of testdata:\n%s", out)
	}

	out, code = runHere(t, "-long", "./nested/...")
	if code != 1 || !strings.Contains(out, "it is long") || strings.Contains(out, "sqlflake/a") {
		t.Errorf("with -long: exit code %d:\n%s", code, out)
	}
}

func TestPatternsReachEveryModule(t *testing.T) {
	repository(t, map[string]string{
		"a/a.go": "package a\n", "snowflake/lease/l.go": "package lease\n",
		"nested/n.go": "package nested\n", "nested/deep/x/x.go": "package x\n",
	})

	const usage = `: want a path such as ./snowflake/... or ./snowflake`
	for pattern, want := range map[string]string{
		"./...":        "[/snowflake/lease /a /nested /nested/deep/x]", // the slow one first
		"./a":          "[/a]",
		"./nested/...": "[/nested /nested/deep/x]",
		"./nested/":    "[/nested]",
		"./none/...":   `[] package "./none/...": there is none in the workspace`,
		"../x":         `[] package "../x"` + usage,
		"snowflake":    `[] package "snowflake"` + usage,
	} {
		packages, err := choose([]string{pattern})
		got := strings.ReplaceAll(fmt.Sprint(packages), root, "")
		if err != nil {
			got += " " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestATerminalShowsWhatIsDoneAndWhatTakesLongest(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, 3)
	r.terminal = true
	r.add(event{Action: "start", Package: root + "/a"})
	r.running[root+"/b"] = time.Now().Add(-time.Minute)
	r.showProgress()
	r.add(event{Action: "pass", Package: root + "/b"})
	r.showProgress()

	const line = "\r\x1b[K"
	want := line + "0 of 3 packages, longest now: b, 1m0s" + line + "1 of 3 packages, longest now: a, 0s"
	if out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

func TestMissingServersAndMisuseAreExplained(t *testing.T) {
	repository(t, map[string]string{"a/a.go": "package a\n"})
	out, code := runHere(t, "-count=1")
	if code != exitUsage || !strings.Contains(out, "flag provided but not defined: -count") {
		t.Errorf("an unknown flag: exit code %d:\n%s", code, out)
	}
	t.Setenv("SNOWFLAKE_TEST_POSTGRES", "postgres://127.0.0.1:1/test")
	const want = "set SNOWFLAKE_TEST_POSTGRES to an address"
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
