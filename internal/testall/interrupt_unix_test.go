//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestInterruptEndsTheTests(t *testing.T) {
	repository(t, map[string]string{
		"a/a_test.go": testFile("a", `func TestA(t *testing.T) {
	if err := os.WriteFile("new", []byte(fmt.Sprint(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("new", "pid"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
}`),
		"nested/go.mod":      nestedModule,
		"nested/b/b_test.go": testFile("b", "func TestB(t *testing.T) { t.Log(\"in b\") }"),
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	process := make(chan int, 1)
	go func() {
		process <- waitForProcess(ctx, "a/pid")
		cancel()
	}()
	var out bytes.Buffer
	code, err := testAll(ctx, options{verbose: true, packages: []string{"./..."}}, &out, &out)
	if code == 0 || err != nil {
		t.Errorf("exit code %d, error %v, want a failure and no error", code, err)
	}
	if strings.Contains(out.String(), "in b") {
		t.Errorf("the other module's tests ran after the interrupt:\n%s", out.String())
	}
	pid := <-process
	if pid == 0 {
		t.Fatalf("the test never started:\n%s", out.String())
	}
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("the test, process %d, is still running", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// waitForProcess waits for a file and returns the process number in it.
func waitForProcess(ctx context.Context, path string) int {
	for ctx.Err() == nil {
		if content, err := os.ReadFile(path); err == nil {
			pid, _ := strconv.Atoi(string(content))
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0
}
