//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// interruptTogether makes the go command and the tests that it starts a group of their own, which gets one interrupt
// when the context ends. The go command alone would not pass it on.
func interruptTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
