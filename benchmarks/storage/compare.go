package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	bar "github.com/sqlflake/sqlflake/benchmarks/storage/internal/progress"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
	runner "github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
	"github.com/sqlflake/sqlflake/internal/tempdir"
)

// compare measures and reports. Finished runs are reported also after an error or Ctrl-C.
func (s settings) compare(ctx context.Context, out, progress io.Writer) (err error) {
	dir := s.out
	if dir == "" {
		temporary, failed := tempdir.New("", tempdir.Files)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, temporary.Remove()) }()
		dir = temporary.Path
	}
	journal, err := runner.OpenJournal(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()

	stop, err := s.startServers(ctx, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	env := s.environment(ctx)
	var engines []engine.Engine
	var steps, ahead []runner.Step
	for _, name := range s.engines {
		e, err := engine.Open(ctx, name, s.config)
		if err != nil {
			return err
		}
		defer func() {
			if failed := e.Close(); failed != nil {
				fmt.Fprintf(progress, "%s was not cleaned up: %v\n", e.Name(), failed)
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
		steps = append(steps, runner.Plan(e, s.scenarios, s.options)...)
	}
	env, changed, err := report.Resume(dir, env)
	if err != nil {
		return err
	}
	for _, sentence := range changed {
		fmt.Fprintln(progress, "Warning:", sentence)
	}
	if err := report.SaveEnvironment(dir, env); err != nil {
		return err
	}
	for _, step := range steps {
		if !journal.Done(step.Record()) {
			ahead = append(ahead, step)
		}
	}

	failed := runner.Do(ctx, steps, s.options, journal, bar.New(progress, ahead, widthOf(progress)))
	for _, e := range engines {
		report.AddNotes(env, e.Name(), e.Notes())
	}
	r := report.New(env, journal.Records(), s.baseline)
	for _, step := range ahead {
		if !journal.Done(step.Record()) {
			r.Unfinished++
		}
	}
	if len(journal.Records()) > 0 {
		failed = errors.Join(failed, report.SaveEnvironment(dir, env), s.write(r, out, progress))
	}
	if r.Unfinished > 0 && s.out != "" {
		fmt.Fprintf(progress, "%d of %d runs are not done. Run the same command with -out %s to continue.\n",
			r.Unfinished, len(steps), s.out)
	}
	return failed
}

// environment describes this run and machine, without the databases.
func (s settings) environment(ctx context.Context) measure.Environment {
	return measure.Environment{
		Time: time.Now().Format(time.RFC3339), Command: s.command,
		Baseline: s.baseline,
		Settings: []measure.Setting{
			{Name: "seed", Value: strconv.FormatUint(s.options.Seed, 10)},
			{Name: "durable", Value: strconv.FormatBool(s.config.Durable)},
		},
		Machine: report.Machine(ctx), Database: map[string][]measure.Setting{}, Notes: map[string][]string{},
	}
}
