//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// process returns the command as its own process.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// TestAPipeThatIsClosedEarlyLeavesNoWorkerBehind reads one of a million IDs.
func TestAPipeThatIsClosedEarlyLeavesNoWorkerBehind(t *testing.T) {
	state := filepath.Join(t.TempDir(), "worker.json")
	cmd := process(t, "new", "-worker", "5", "-state", state, "-n", "1000000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	_ = out.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after %s: %v", first, err)
	}
}

func TestAnInterruptEndsTheProcess(t *testing.T) {
	cmd := process(t, "decode")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = nil
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("175928847299117063\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it reads, and waits for more
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}
