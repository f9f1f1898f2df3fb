package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/machine"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/plan"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
	runner "github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
	"github.com/sqlflake/sqlflake/internal/tempdir"
)

// measure measures and reports. Finished runs are reported also after an error or Ctrl-C.
func (s settings) measure(ctx context.Context, out, progress io.Writer) (failed error) {
	dir := s.out
	if dir == "" {
		temporary, err := tempdir.New("", tempdir.Files)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, temporary.Remove()) }()
		dir = temporary.Path
	}
	journal, err := measure.OpenJournal(dir)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, journal.Close()) }()
	busy := machine.Busy() // before the servers start

	stop, err := s.startServers(ctx, progress)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, stop()) }()

	env := s.environment(ctx)
	var engines []engine.Engine
	var steps []plan.Step
	for _, name := range s.engines {
		e, err := engine.Open(ctx, name, s.config)
		if err != nil && strings.Contains(err.Error(), "requires cgo") {
			err = errors.New("SQLite needs a program built with CGO_ENABLED=1 and a C compiler; servers do not: -db postgres")
		}
		if err != nil {
			return err
		}
		defer func() {
			if err := e.Close(); err != nil {
				fmt.Fprintf(progress, "%s was not cleaned up: %v\n", e.Name(), err)
			}
		}()
		list, err := e.Settings(ctx)
		if err != nil {
			return fmt.Errorf("settings of %s: %w", name, err)
		}
		for _, one := range list {
			env.Database[name] = append(env.Database[name], measure.Setting(one))
		}
		engines = append(engines, e)
		steps = append(steps, plan.Steps(e, s.scenarios, s.options, s.baseline)...)
	}
	if len(steps) == 0 {
		return fmt.Errorf("-scenario: nothing to measure on %s", strings.Join(s.engines, ", "))
	}
	if err := journal.Start(env); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	ahead := runner.Ahead(steps, journal)
	fmt.Fprintf(progress, "%d runs, %d of them done before\n", len(steps), len(steps)-len(ahead))
	if busy != "" && len(ahead) > 0 {
		fmt.Fprintln(progress, "Warning:", busy)
		failed = journal.AddNotes("machine", busy)
	}
	failed = errors.Join(failed, runner.Do(ctx, ahead, s.options, journal, progress))
	for _, e := range engines {
		failed = errors.Join(failed, journal.AddNotes(e.Name(), e.Notes()...))
	}
	data := journal.Data()
	if len(data.Records) == 0 {
		return failed
	}
	r := report.New(data.Environment, data.Records, s.baseline.Name)
	r.Unfinished = len(runner.Ahead(steps, journal))
	if r.Unfinished > 0 && s.out != "" {
		fmt.Fprintf(progress, "%d of %d runs are not done. Run the same command with -out %s to continue.\n",
			r.Unfinished, len(steps), s.out)
	}
	return errors.Join(failed, s.write(r, out, progress))
}

// environment describes this run and machine, without the databases.
func (s settings) environment(ctx context.Context) measure.Environment {
	return measure.Environment{
		Time: time.Now().Format(time.RFC3339), Command: s.command, Baseline: s.baseline.Name,
		Settings: []measure.Setting{
			{Name: "seed", Value: strconv.FormatUint(s.options.Seed, 10)},
			{Name: "durable", Value: strconv.FormatBool(s.config.Durable)},
			{Name: "rows", Value: strconv.Itoa(s.options.Rows)},
		},
		Machine: machine.Describe(ctx), Database: map[string][]measure.Setting{},
	}
}
