package proxy

import (
	"syscall"
	"time"
)

// wait sleeps in the kernel, accurate to about 60 µs: Go's timers wake up to a millisecond late in an idle process,
// which would double a delay of 1 ms.
func wait(d time.Duration) {
	for d > 0 {
		spec := syscall.NsecToTimespec(d.Nanoseconds())
		var left syscall.Timespec
		if err := syscall.Nanosleep(&spec, &left); err == nil {
			return
		}
		d = time.Duration(left.Nano())
	}
}
