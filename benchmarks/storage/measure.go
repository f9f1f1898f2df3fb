package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
	runner "github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
	"github.com/sqlflake/sqlflake/internal/dbserver"
)

// measure measures and reports. After an error or Ctrl-C it reports the runs that are done.
func (s settings) measure(ctx context.Context, out, progress io.Writer) (failed error) {
	dir := s.out
	if dir == "" {
		if dir, failed = os.MkdirTemp("", "sqlflake-storage-"); failed != nil {
			return failed
		}
		defer func() { failed = errors.Join(failed, os.RemoveAll(dir)) }()
	}

	journal, err := measure.CreateJournal(dir)
	if err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	defer func() { failed = errors.Join(failed, journal.Close()) }()

	failed = s.fill(ctx, journal, progress)
	data, err := measure.ReadFolder(dir)
	if err != nil || len(data.Records) == 0 {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, s.write(report.New(data.Environment, data.Records), out, progress))
}

// fill measures, and adds all runs to the journal.
func (s settings) fill(ctx context.Context, journal *measure.Journal, progress io.Writer) (failed error) {
	about, busy := s.describeMachine(ctx), busyMachine() // before the servers start
	var engines []engine.Engine
	var steps []runner.Step
	for _, name := range s.engines {
		e, end, err := s.open(ctx, name, progress)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, end()) }()

		own, err := e.Settings(ctx)
		if err != nil {
			return fmt.Errorf("settings of %s: %w", name, err)
		}
		about, engines = append(about, own...), append(engines, e)
		steps = append(steps, runner.Steps(e, s.scenarios, s.options)...)
	}

	if len(steps) == 0 {
		return fmt.Errorf("-scenario: nothing to measure on %s", strings.Join(s.engines, ", "))
	}
	if err := journal.Start(about); err != nil {
		return fmt.Errorf("-out: %w", err)
	}

	fmt.Fprintf(progress, "%d runs\n", len(steps))
	if busy != "" {
		fmt.Fprintln(progress, "Warning:", busy)
		failed = journal.AddNotes("machine", busy)
	}

	failed = errors.Join(failed, runner.Do(ctx, steps, s.options, journal, progress))
	for _, e := range engines {
		failed = errors.Join(failed, journal.AddNotes(e.Name(), e.Notes()...))
	}
	return failed
}

// newServer is the value of -postgres, -postgres18 and -mariadb for a temporary server. A colon and a folder of
// programs may follow.
const newServer = "new"

const cacheMiB = 16 // of such a server

// open opens an engine, on a server that it starts if the flags ask for one. end closes both.
func (s settings) open(ctx context.Context, name string, progress io.Writer) (
	e engine.Engine, end func() error, err error,
) {
	at, stop := *s.at[name], func() error { return nil }
	if first, folder, _ := strings.Cut(at, ":"); first == newServer {
		fmt.Fprintf(progress, "Starting a %s server with a cache of %d MB.\n", name, cacheMiB)
		program := strings.TrimSuffix(name, "18")
		server, err := dbserver.Start(ctx, dbserver.Config{Name: program, Folder: folder, CacheMiB: cacheMiB})
		if errors.Is(err, dbserver.ErrNotInstalled) {
			err = fmt.Errorf("%w; install it, or set the DSN of a running one", err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("-%s %s: %w", name, at, err)
		}
		at, stop = server.DSN, server.Stop
	}

	if e, err = engine.Open(ctx, name, at); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return e, func() error { return errors.Join(e.Close(), stop()) }, nil
}

// describeMachine describes the run, the computer and the program. What the system does not report is left out.
func (s settings) describeMachine(ctx context.Context) []measure.Setting {
	memory, _ := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64)
	list := []measure.Setting{
		{Name: "time", Value: time.Now().Format(time.RFC3339)},
		{Name: "command", Value: s.command},
		{Name: "goos", Value: runtime.GOOS},
		{Name: "goarch", Value: runtime.GOARCH},
		{Name: "cpu", Value: field("/proc/cpuinfo", "model name")},
		{Name: "cores", Value: strconv.Itoa(runtime.NumCPU())},
		{Name: "memory", Value: fmt.Sprintf("%.1f GiB", memory/(1<<20))},
		{Name: "load", Value: load()},
		{Name: "go", Value: runtime.Version()},
		{Name: "commit", Value: commit(ctx)},
	}

	return slices.DeleteFunc(list, func(s measure.Setting) bool {
		return s.Value == "" || s.Name == "memory" && memory == 0
	})
}

// load returns the average number of running threads of the last minute; "" where the system does not report it.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // Linux
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

// busy is the load for each core that makes speeds doubtful.
const busy = 0.5

// busyMachine returns a sentence if the machine is busy with other work, else "".
func busyMachine() string {
	average, _ := strconv.ParseFloat(load(), 64)
	if average <= busy*float64(runtime.NumCPU()) {
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

// commit returns the commit of the working folder, or "" if that is another module, or git is missing. It asks git
// because go run records no commit in the program.
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
