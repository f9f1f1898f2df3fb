package testdb

import "syscall"

// endWithParent makes the kernel stop the server when the process that started it ends, even by SIGKILL.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
