//go:build !unix

package main

import "os/exec"

// interruptTogether does nothing: Ctrl-C reaches every process of a Windows console.
func interruptTogether(*exec.Cmd) {}
