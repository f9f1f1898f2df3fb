package turns

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// queuedThread returns how long this thread has been ready to run and waited for a core.
func queuedThread() time.Duration { return queued("/proc/thread-self/schedstat") }

// busy returns the time that all cores were used by anyone, and were taken by the host of a virtual machine.
func busy() (sum time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	for i, field := range bytes.Fields(text) { // cpu user nice system idle iowait irq softirq steal, in 1/100 s
		if n, _ := strconv.ParseInt(string(field), 10, 64); i > 0 && i < 9 && i != 4 && i != 5 {
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// queued reads the second number of a schedstat file: nanoseconds in the run queue.
func queued(name string) time.Duration {
	text, _ := os.ReadFile(name) // of a kernel without these statistics, or of a thread that has ended
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(n)
}
