package run

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// Machine describes the computer and the program. What the system does not report is left out.
func Machine(ctx context.Context) []measure.Setting {
	var settings []measure.Setting
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			settings = append(settings, measure.Setting{Name: name, Value: value})
		}
	}
	add("goos", runtime.GOOS)
	add("goarch", runtime.GOARCH)
	add("cpu", field("/proc/cpuinfo", "model name"))
	add("cores", strconv.Itoa(runtime.NumCPU()))
	if kilobytes, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		add("memory", fmt.Sprintf("%.1f GiB", float64(kilobytes)/(1<<20)))
	}
	if load, ok := Load(); ok {
		add("load", fmt.Sprintf("%.2f", load))
	}
	add("go", runtime.Version())
	add("commit", commit(ctx))
	return settings
}

// Load returns the average number of running threads of the last minute; false where the system does not report it.
func Load() (float64, bool) {
	text, _ := os.ReadFile("/proc/loadavg") // Linux
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	return load, err == nil
}

// busy is the load for each core that makes speeds doubtful.
const busy = 0.5

// Busy returns a sentence if the machine is busy with other work, else "".
func Busy() string {
	load, ok := Load()
	if !ok || load <= busy*float64(runtime.NumCPU()) {
		return ""
	}
	return fmt.Sprintf("The machine was busy before the first run: its load was %.1f on %d cores. Speeds are less exact.", load,
		runtime.NumCPU())
}

// field returns the value after "name:" in a file of Linux.
func field(path, name string) string {
	in, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = in.Close() }() // read only
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit returns that of the folder if it is the tool's module, because go run does not record it in the program.
func commit(ctx context.Context) string {
	module, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(module), "module github.com/sqlflake/sqlflake") {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--abbrev=12", "--dirty=, with changes", "--exclude=*")
	out, err := git.Output()
	if err != nil {
		return ""
	}
	return string(out)
}
