package dbserver

import "syscall"

// endWithParent makes the kernel end the server when the process that started it dies, even by SIGKILL.
func endWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
