package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// bytesWritten returns the bytes that this process and its children have passed to write on Linux (proc(5),
// /proc/PID/io); -1 elsewhere.
func bytesWritten() int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "wchar: "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// isLocal reports whether a host, or the folder of a socket, is on this machine by its name. The server may still be in
// a container.
func isLocal(host string) bool {
	if host == "" || host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// process is Linux's information about a process: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
type process struct {
	pid      int
	name     string // of the program, at most 15 bytes
	parent   int
	children time.Duration // CPU time of the children that have ended, in steps of 10 ms
}

// clockTick is the unit of times in /proc/PID/stat. USER_HZ is 100 on all architectures that Go runs on.
const clockTick = time.Second / 100

func readProcess(pid int) (process, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return process{}, err
	}
	// The name is in parentheses and may contain parentheses.
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("%s has an unknown form", path)
	}
	fields := strings.Fields(string(text[end+1:]))
	const parent, childUser, childSystem = 1, 13, 14 // fields 4, 16 and 17 of the page above
	if len(fields) <= childSystem {
		return process{}, fmt.Errorf("%s has an unknown form", path)
	}
	p := process{pid: pid, name: string(text[open+1 : end])}
	var errs [3]error
	var user, system int64
	p.parent, errs[0] = strconv.Atoi(fields[parent])
	user, errs[1] = strconv.ParseInt(fields[childUser], 10, 64)
	system, errs[2] = strconv.ParseInt(fields[childSystem], 10, 64)
	p.children = time.Duration(user+system) * clockTick
	return p, errors.Join(errs[:]...)
}

// processes returns the visible processes that match.
func processes(match func(process) bool) ([]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var list []process
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil && match(p) { // an error means that it has ended
			list = append(list, p)
		}
	}
	return list, nil
}

// familyCPU returns the CPU time of a process, its children, and its children that have ended.
func familyCPU(pid int) (time.Duration, error) {
	// In this order a child that ends meanwhile is missed rather than counted twice. The error is at most the time of
	// one child.
	parent, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	total, err := processCPU(pid)
	if err != nil {
		return 0, err
	}
	total += parent.children
	children, err := processes(func(p process) bool { return p.parent == pid })
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		used, err := processCPU(child.pid)
		if errors.Is(err, errEnded) {
			continue
		}
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// errEnded is returned by processCPU for a process that does not exist.
var errEnded = errors.New("the process has ended")
