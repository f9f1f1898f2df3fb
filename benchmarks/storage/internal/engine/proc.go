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
	text, _ := os.ReadFile("/proc/self/io")
	_, after, _ := strings.Cut(string(text), "wchar: ")
	var n int64
	if _, err := fmt.Sscan(after, &n); err != nil {
		return -1
	}
	return n
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
	fields := strings.Fields(string(text[end+1:]))
	const parent, childUser, childSystem = 1, 13, 14 // fields 4, 16 and 17 of the page above
	if open < 0 || end < open || len(fields) <= childSystem {
		return process{}, fmt.Errorf("%s has an unknown form", path)
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i]) // the kernel writes a number
		return n
	}
	return process{
		pid: pid, name: string(text[open+1 : end]), parent: number(parent),
		children: time.Duration(number(childUser)+number(childSystem)) * clockTick,
	}, nil
}

// processes returns the visible processes that match.
func processes(match func(process) bool) ([]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	var list []process
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if p, err := readProcess(pid); err == nil && match(p) { // an error means that it has ended
			list = append(list, p)
		}
	}
	return list, err
}

// familyCPU returns the CPU time of a process, its children, and its children that have ended.
func familyCPU(pid int) (time.Duration, error) {
	// In this order a child that ends meanwhile is missed rather than counted twice. The error is at most the time of
	// one child.
	parent, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	family, err := processes(func(p process) bool { return p.pid == pid || p.parent == pid })
	total := parent.children
	for _, p := range family {
		used, failed := processCPU(p.pid)
		if failed != nil && !errors.Is(failed, errEnded) {
			return 0, failed
		}
		total += used
	}
	return total, err
}

// errEnded is returned by processCPU for a process that does not exist.
var errEnded = errors.New("the process has ended")

// serverProcess finds the process of a server that reports its PID file. If the file cannot be read, it is the only
// server process on this machine.
func serverProcess(pidFile string) (int, error) {
	list, err := processes(func(p process) bool { return p.name == "mariadbd" || p.name == "mysqld" })
	text, _ := os.ReadFile(pidFile)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	for _, p := range list {
		if p.pid == pid || len(list) == 1 {
			return p.pid, nil
		}
	}
	if err == nil && len(list) > 1 {
		return 0, fmt.Errorf("there are %d servers here, and %s, which would identify it, cannot be read", len(list), pidFile)
	}
	return 0, errors.Join(err, errNotVisible)
}

var errNotVisible = errors.New("its process is not visible from here")

// postmaster returns the parent of the process that serves a connection to PostgreSQL.
func postmaster(backend int) (int, error) {
	// The number could be that of another process if the server is in a container.
	if child, err := readProcess(backend); err == nil && child.name == "postgres" {
		if parent, err := readProcess(child.parent); err == nil && parent.name == "postgres" {
			return parent.pid, nil
		}
	}
	return 0, errNotVisible
}
