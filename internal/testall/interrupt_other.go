//go:build !unix

package main

import "os/exec"

// interruptTogether leaves all as it is: Ctrl-C reaches every process of a Windows console by itself.
func interruptTogether(*exec.Cmd) {}
