package engine

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// processCPU returns the CPU time of a process with all its threads, including ended ones, which
// /proc/PID/task/*/schedstat omits. It is the clock of clock_getcpuclockid(3), in nanoseconds, and needs no rights.
func processCPU(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED of the kernel's posix-timers_types.h
	clock := ^int32(pid)<<3 | scheduled
	var used syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&used)), 0)
	switch {
	case errno == 0:
		return time.Duration(used.Nano()), nil
	case errors.Is(errno, syscall.EINVAL), errors.Is(errno, syscall.ESRCH):
		return 0, fmt.Errorf("process %d: %w", pid, errEnded)
	default:
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, errno)
	}
}
