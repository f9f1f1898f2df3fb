package browsertest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var builds sync.Map // of func() (string, error), by the name of the example

// build compiles an example once and returns the path of the program.
func build(t *testing.T, example string) string {
	t.Helper()
	once, _ := builds.LoadOrStore(example, sync.OnceValues(func() (string, error) {
		program := filepath.Join(temp, example+".exe")
		cmd := exec.Command("go", "build", "-o", program, "./examples/"+example)
		cmd.Dir, cmd.Stderr = filepath.Join("..", ".."), os.Stderr
		return program, cmd.Run()
	}))
	program, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("go build ./examples/%s: %v", example, err)
	}
	return program
}

// start runs an example until the test ends, and returns the address that it prints in its first line.
func start(t *testing.T, example string, env []string, args ...string) string {
	t.Helper()
	needBrowser(t)
	cmd := exec.Command(build(t, example), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), append(os.Environ(), env...), t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		if runtime.GOOS == "windows" { // which cannot interrupt it
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_, _ = lines.WriteTo(t.Output())
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s after an interrupt: %v", example, err)
		}
	})
	line, err := lines.ReadString('\n')
	address := regexp.MustCompile(`http://\S+`).FindString(line)
	if address == "" {
		t.Fatalf("%s printed %q, error %v: no address", example, line, err)
	}
	return strings.TrimSuffix(address, "/")
}
