//go:build !windows && !race

// Not with -race, because .ci/run has steps for it.

package release_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root    = "github.com/sqlflake/sqlflake"
	version = "v0.999.0" // no go.mod has it, so a module that the script leaves out is noticed
)

// machine is a computer without our modules, on which github.com is a folder.
type machine struct {
	env    []string
	clone  string   // of the repository as it is, with what is not committed
	remote string   // what is published
	bin    string   // where commands are installed
	dirs   []string // the folders of the published modules; the root's is "."
}

func (m *machine) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, m.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newMachine has the modules of others from the ordinary module cache, if they are there, and the ordinary build cache.
func newMachine(t *testing.T) *machine {
	temp := t.TempDir()
	m := &machine{
		clone: filepath.Join(temp, "clone"), remote: filepath.Join(temp, "remote"), bin: filepath.Join(temp, "bin"),
	}
	// In a hook git sets GIT_DIR, which would lead the commits and tags below to the repository itself.
	m.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cache := strings.TrimSpace(m.run(t, "", "go", "env", "GOMODCACHE"))
	proxies := strings.TrimSpace(m.run(t, "", "go", "env", "GOPROXY"))
	config := filepath.Join(temp, "gitconfig")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `[user]
	name = Test
	email = test@example.org
[init]
	defaultBranch = main
[safe]
	directory = *
[url "%s"]
	insteadOf = https://%s
`, filepath.ToSlash(m.remote), root), 0o600))
	m.env = append(m.env, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off", "GOFLAGS=-trimpath -modcacherw",
		"GOMODCACHE="+filepath.Join(temp, "mod"), "GOBIN="+m.bin, "GOSUMDB=off", "GOPRIVATE="+root,
		// Our modules have no C. That of SQLite would be compiled anew in each run, and most packages a second time.
		"CGO_ENABLED=0",
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download"))+","+proxies)

	for name := range strings.SplitSeq(m.run(t, "../..", "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		source := filepath.Join("../..", filepath.FromSlash(name))
		info, err := os.Stat(source)
		if name == "" || err != nil { // deleted, but not in git
			continue
		}
		content, err := os.ReadFile(source)
		must(t, err)
		to := filepath.Join(m.clone, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(to), 0o700))
		must(t, os.WriteFile(to, content, info.Mode()))
		if path.Base(name) == "go.mod" && !regexp.MustCompile(`(^|/)(benchmarks|examples|internal|testdata)/`).MatchString(name) {
			m.dirs = append(m.dirs, path.Dir(name))
		}
	}
	m.run(t, m.clone, "git", "init", "-q")
	m.run(t, m.clone, "git", "add", "--all", "--force")
	m.run(t, m.clone, "git", "commit", "-q", "-m", "As it is")
	m.run(t, temp, "git", "init", "-q", "--bare", m.remote)
	m.run(t, m.clone, "git", "remote", "add", "origin", m.remote)
	return m
}

// write creates the files in a new folder with a go.mod of its own.
func (m *machine) write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	m.run(t, dir, "go", "mod", "init", "example.org/stranger")
	return dir
}

func TestRelease(t *testing.T) {
	m := newMachine(t)
	m.run(t, m.clone, ".ci/release", version)
	t.Run("tags", func(t *testing.T) {
		var want []string
		for _, dir := range m.dirs {
			want = append(want, path.Join(dir, version))
		}
		slices.Sort(want)
		if got := strings.Fields(m.run(t, m.remote, "git", "tag")); !slices.Equal(got, want) {
			t.Errorf("tags %q, want %q", got, want)
		}
	})

	t.Run("tidy", m.isTidy)
	t.Run("stranger", func(t *testing.T) {
		for _, dir := range m.dirs {
			t.Run(dir, func(t *testing.T) { m.install(t, path.Join(root, dir), filepath.Join(m.clone, dir)) })
		}
		t.Run("README", m.vetREADME)
	})
}

// isTidy looks at what the release changed. The unpublished modules need large libraries, so it looks at them with
// SNOWFLAKE_TEST_LONG only.
func (m *machine) isTidy(t *testing.T) {
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		for file := range strings.FieldsSeq(m.run(t, m.clone, "git", "ls-files", "*go.mod")) {
			m.run(t, filepath.Join(m.clone, filepath.Dir(file)), "go", "mod", "tidy")
		}
	}
	diff := m.run(t, m.clone, "git", "diff", "--unified=0", "HEAD~3", "--", "*go.mod", "*go.sum")
	for line := range strings.Lines(diff) {
		change := strings.ContainsAny(line[:1], "+-") && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "---")
		if change && !strings.Contains(line, root) {
			t.Fatalf("go mod tidy changes more than our own versions and hashes:\n%s", diff)
		}
	}
}

// install builds a program that imports every package of the module that it may import, and installs its commands.
func (m *machine) install(t *testing.T, module, source string) {
	program := bytes.NewBufferString("package main\n\n")
	commands := 0
	for line := range strings.Lines(m.run(t, source, "go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")) {
		name, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.Contains(pkg+"/", "/internal/") || strings.Contains(pkg, "/examples/"):
		case name == "main":
			commands++
			m.run(t, t.TempDir(), "go", "install", pkg+"@latest")
			if module == root {
				break
			}
			if got := m.run(t, "", filepath.Join(m.bin, path.Base(pkg)), "--version"); !strings.Contains(got, version) {
				t.Errorf("the command says that it is %s", got)
			}

		default:
			fmt.Fprintf(program, "import _ %q\n", pkg)
		}
	}

	if commands > 0 && module != root {
		return
	}

	program.WriteString("\nfunc main() {}\n")
	dir := m.write(t, map[string]string{"main.go": program.String()})
	m.run(t, dir, "go", "get", module)
	m.run(t, dir, "go", "get", ".") // what the packages import
	m.run(t, dir, "go", "build", "-o", filepath.Join(dir, "program.exe"))
	if got := m.run(t, dir, "go", "list", "-m", module); got != module+" "+version+"\n" {
		t.Errorf("installed %s", got)
	}
}

// vetREADME checks the programs on the first page, as they are there.
func (m *machine) vetREADME(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(m.clone, "README.md"))
	must(t, err)
	files := map[string]string{}
	for i, code := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1) {
		if bytes.Contains(code[1], []byte("package main\n")) {
			files[fmt.Sprintf("program%d/main.go", i+1)] = string(code[1])
		}
	}

	if len(files) == 0 {
		t.Fatal("README.md has no complete program")
	}

	dir := m.write(t, files)
	m.run(t, dir, "go", "mod", "tidy")
	m.run(t, dir, "go", "vet", "./...")
}
