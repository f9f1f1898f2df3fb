//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// interruptTogether puts the go command and the tests that it starts into a process group, and interrupts the group
// when the context ends. The go command does not forward an interrupt.
func interruptTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
