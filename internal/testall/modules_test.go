package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestModulesAreFound(t *testing.T) {
	repository(t, map[string]string{
		"benchmarks/go.mod":       nestedModule,
		"benchmarks/inner/go.mod": nestedModule,
		".cache/go.mod":           nestedModule,
		"_old/go.mod":             nestedModule,
		"a/testdata/go.mod":       nestedModule,
		"vendor/x/go.mod":         nestedModule,
	})
	got, err := findModules(".")
	if want := []string{".", "benchmarks", "benchmarks/inner"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("modules %q, error %v, want %q", got, err, want)
	}
}

func TestRootIsFoundFromBelow(t *testing.T) {
	repository(t, map[string]string{"benchmarks/go.mod": nestedModule, "benchmarks/a/a.go": "package a\n"})
	want, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("benchmarks/a")
	if got, err := findRoot(); err != nil || got != want {
		t.Errorf("root %q, error %v, want %q", got, err, want)
	}
}

func TestPatternsAreGivenToTheirModules(t *testing.T) {
	modules := []string{".", "bench", "bench/peers", "benchmarks"}
	for _, tt := range []struct {
		patterns []string
		want     []suite
	}{
		{[]string{"./..."}, []suite{
			{".", []string{"./..."}},
			{"bench", []string{"./..."}},
			{"bench/peers", []string{"./..."}},
			{"benchmarks", []string{"./..."}},
		}},
		{[]string{"."}, []suite{{".", []string{"."}}}},
		{[]string{"./snowflake", "./a/b/..."}, []suite{{".", []string{"./snowflake", "./a/b/..."}}}},
		{[]string{"./bench/..."}, []suite{{"bench", []string{"./..."}}, {"bench/peers", []string{"./..."}}}},
		{[]string{"./bench"}, []suite{{"bench", []string{"."}}}},
		{[]string{"./bench/x/..."}, []suite{{"bench", []string{"./x/..."}}}},
		{[]string{"./bench/peers/x"}, []suite{{"bench/peers", []string{"./x"}}}},
		{[]string{"./benchmarks/x/", "./snowflake/"}, []suite{{".", []string{"./snowflake"}}, {"benchmarks", []string{"./x"}}}},
	} {
		if got, err := plan(modules, tt.patterns); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %v, error %v, want %v", tt.patterns, got, err, tt.want)
		}
	}
}

func TestTargetsAreFunctionsOfTheTopLevel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a_test.go")
	const text = "package a\n\nimport \"testing\"\n\ntype t struct{}\n\n" +
		"func FuzzParse(f *testing.F) {}\nfunc (t) FuzzMethod(f *testing.F) {}\nfunc TestFuzz(t *testing.T) {}\n" +
		"const text = `\nfunc FuzzText(f *testing.F) {}\n`\n\n// func FuzzComment(f *testing.F) {}\nfunc FuzzScan(f *testing.F) {}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := fuzzTargets(path); err != nil || !slices.Equal(got, []string{"FuzzParse", "FuzzScan"}) {
		t.Errorf("targets %v, error %v, want FuzzParse and FuzzScan", got, err)
	}
}

func TestReportNamesWhatIsMissing(t *testing.T) {
	var out strings.Builder
	env, err := report(&out, []testdb.Status{
		{Name: "postgres", Variable: "PG", Address: "host:5432", Version: "17.2", Value: "postgres://host/test"},
		{Name: "redis", Variable: "RD", Err: errors.New("not found at host:6379: refused")},
	})
	const want = `postgres  17.2 at host:5432
redis     not found at host:6379: refused: its tests are skipped (set RD)
`
	if err != nil || out.String() != want {
		t.Errorf("error %v, report:\n%swant:\n%s", err, out.String(), want)
	}
	for _, entry := range []string{"PG=postgres://host/test", "RD=off"} {
		if !slices.Contains(env, entry) {
			t.Errorf("%s is not in the environment of the tests", entry)
		}
	}
}

func TestReportFailsWhenANeededServerIsMissing(t *testing.T) {
	var out strings.Builder
	_, err := report(&out, []testdb.Status{{Name: "redis", Variable: "RD", Err: errors.New("not found"), Needed: true}})
	if err == nil || !strings.Contains(out.String(), "its tests would fail (set RD)") {
		t.Errorf("error %v, report:\n%s", err, out.String())
	}
}
