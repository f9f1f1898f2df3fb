package testdb

import "syscall"

// endWithParent has the kernel shut the server down when the process that started it dies, even by SIGKILL.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
