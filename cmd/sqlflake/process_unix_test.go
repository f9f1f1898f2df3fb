//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// start starts the command as its own process, and returns its first line of output.
func start(t *testing.T, stdin io.Reader, args ...string) (cmd *exec.Cmd, out io.Closer) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	cmd.Stdin = stdin
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err == nil {
		_, err = bufio.NewReader(pipe).ReadString('\n')
	}

	must(t, err)
	return cmd, pipe
}

// TestAPipeThatIsClosedEarlyLeavesNoWorkerBehind reads one of a million IDs.
func TestAPipeThatIsClosedEarlyLeavesNoWorkerBehind(t *testing.T) {
	cmd, out := start(t, nil, "new", "--worker", "5", "--state", filepath.Join(t.TempDir(), "worker.json"), "-n", "1000000")
	_ = out.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptEndsTheProcess(t *testing.T) {
	in, feed, err := os.Pipe()
	must(t, err)
	defer func() { _, _ = in.Close(), feed.Close() }()
	if _, err := feed.WriteString("175928847299117063\n"); err != nil {
		t.Fatal(err)
	}
	cmd, _ := start(t, in, "decode") // it reads, and waits for more
	must(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}
