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
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
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

	env, busy := s.environment(ctx), busyMachine() // before the servers start
	stop, err := s.startServers(ctx, progress)
	defer func() { failed = errors.Join(failed, stop()) }()
	if err != nil {
		return err
	}

	engines, err := s.openEngines(ctx)
	defer func() { closeEngines(engines, progress) }()
	if err != nil {
		return err
	}

	var steps []runner.Step
	for _, e := range engines {
		steps = append(steps, runner.Steps(e, s.scenarios, s.options)...)
	}
	if len(steps) == 0 {
		return fmt.Errorf("-scenario: nothing to measure on %s", strings.Join(s.engines, ", "))
	}

	if env.Database, err = settingsOf(ctx, engines); err != nil {
		return err
	}
	if err := journal.Start(env); err != nil {
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

	data, err := measure.ReadFolder(dir)
	if err != nil || len(data.Records) == 0 {
		return errors.Join(failed, err)
	}

	r := report.New(data.Environment, data.Records)
	return errors.Join(failed, s.write(r, out, progress))
}

// openEngines opens the engines that the flags ask for. Close those that it returns, even with an error.
func (s settings) openEngines(ctx context.Context) (engines []engine.Engine, err error) {
	for _, name := range s.engines {
		e, err := engine.Open(ctx, name, *s.at[name])
		if err != nil && strings.Contains(err.Error(), "requires cgo") {
			err = errors.New("SQLite needs a program built with CGO_ENABLED=1 and a C compiler; servers do not: " +
				"-db postgres")
		}
		if err != nil {
			return engines, err
		}

		engines = append(engines, e)
	}

	return engines, nil
}

func closeEngines(engines []engine.Engine, progress io.Writer) {
	for _, e := range engines {
		if err := e.Close(); err != nil {
			fmt.Fprintf(progress, "%s was not cleaned up: %v\n", e.Name(), err)
		}
	}
}

// environment describes the flags and the machine.
func (s settings) environment(ctx context.Context) measure.Environment {
	return measure.Environment{
		Time: time.Now().Format(time.RFC3339), Command: s.command, Baseline: key.Kinds()[0].Name,
		Settings: []measure.Setting{
			{Name: "seed", Value: strconv.FormatUint(s.options.Seed, 10)},
			{Name: "rows", Value: strconv.Itoa(s.options.Rows)},
		},
		Machine: describeMachine(ctx),
	}
}

// settingsOf describes the databases.
func settingsOf(ctx context.Context, engines []engine.Engine) (map[string][]measure.Setting, error) {
	all := map[string][]measure.Setting{}
	for _, e := range engines {
		settings, err := e.Settings(ctx)
		if err != nil {
			return nil, fmt.Errorf("settings of %s: %w", e.Name(), err)
		}
		all[e.Name()] = settings
	}

	return all, nil
}

// newServer is the value of -postgres, -postgres18 and -mariadb for a temporary server. A colon and a folder of
// programs may follow.
const newServer = "new"

const cacheMiB = 16 // of such a server

// startServers starts the servers that the flags ask for and sets their DSNs. stop is never nil and ends them; close
// the engines before.
func (s *settings) startServers(ctx context.Context, progress io.Writer) (stop func() error, err error) {
	stop = func() error { return nil }
	for _, name := range s.engines {
		dsn := s.at[name]
		first, folder, _ := strings.Cut(*dsn, ":")
		if first != newServer || name == "sqlite" {
			continue
		}

		fmt.Fprintf(progress, "Starting a %s server with a cache of %d MB.\n", name, cacheMiB)
		program := strings.TrimSuffix(name, "18")
		one, err := dbserver.Start(ctx, dbserver.Config{Name: program, Folder: folder, CacheMiB: cacheMiB})
		if errors.Is(err, dbserver.ErrNotInstalled) {
			err = fmt.Errorf("%w; install it, or set the DSN of a running one", err)
		}
		if err != nil {
			return stop, fmt.Errorf("-%s %s: %w", name, *dsn, err)
		}

		others := stop
		stop = func() error { return errors.Join(one.Stop(), others()) }
		*dsn = one.DSN
	}

	return stop, nil
}

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
