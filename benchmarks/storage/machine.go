package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// describeMachine describes the computer and the program. What the system does not report is left out.
func describeMachine(ctx context.Context) []measure.Setting {
	memory, _ := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64)
	average, _ := load()
	list := []measure.Setting{
		{Name: "goos", Value: runtime.GOOS},
		{Name: "goarch", Value: runtime.GOARCH},
		{Name: "cpu", Value: field("/proc/cpuinfo", "model name")},
		{Name: "cores", Value: strconv.Itoa(runtime.NumCPU())},
		{Name: "memory", Value: fmt.Sprintf("%.1f GiB", memory/(1<<20))},
		{Name: "load", Value: fmt.Sprintf("%.2f", average)},
		{Name: "go", Value: runtime.Version()},
		{Name: "commit", Value: commit(ctx)},
	}

	return slices.DeleteFunc(list, func(s measure.Setting) bool {
		isOfLinux := s.Name == "memory" || s.Name == "load"
		return s.Value == "" || isOfLinux && runtime.GOOS != "linux"
	})
}

// busy is the load for each core that makes speeds doubtful.
const busy = 0.5

// load returns the average number of running threads of the last minute; false where the system does not report it.
func load() (average float64, ok bool) {
	text, _ := os.ReadFile("/proc/loadavg") // Linux
	_, err := fmt.Sscan(string(text), &average)
	return average, err == nil
}

// busyMachine returns a sentence if the machine is busy with other work, else "".
func busyMachine() string {
	if average, ok := load(); !ok || average <= busy*float64(runtime.NumCPU()) {
		return ""
	}
	return "The machine was busy with other work when the runs began, so speeds are less exact."
}

// field returns the value after "name:" in a file such as /proc/cpuinfo, or "" if there is none.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+name)
	value, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(value, "\t: ")
}

// commit returns the commit of the folder if it is the tool's module, because go run records none in the program.
func commit(ctx context.Context) string {
	module, _ := os.ReadFile("go.mod")
	if !strings.HasPrefix(string(module), "module github.com/sqlflake/sqlflake") {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "describe",
		"--always", "--abbrev=12", "--dirty=, with changes", "--exclude=*")
	out, _ := git.Output() // none without git
	return strings.TrimSpace(string(out))
}
