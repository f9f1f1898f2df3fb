// Package run executes the steps of a plan and stores their results.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/plan"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Do runs the steps that have no record in the journal, and adds their records. It ends when ctx does, or with the first
// error; earlier results are in the journal. A step that an engine does not support (errors.ErrUnsupported) gets a record
// with a note and the values that it returned. Progress is written to w, as a bar if w is a terminal.
func Do(
	ctx context.Context, steps []plan.Step, o scenario.Options, j *measure.Journal, w io.Writer, terminal bool,
) (failed error) {
	ahead := Ahead(steps, j)
	p := start(w, terminal, ahead)
	defer p.close()
	var load others
	defer func() {
		if note := load.note(); note != "" {
			failed = errors.Join(failed, j.AddNotes("machine", note))
		}
	}()
	for _, s := range ahead {
		load.sample()
		p.step(s)
		record := s.Record()
		values, left, err := measureStep(ctx, s, o, p)
		switch {
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), left)
		case left != nil: // a full disk or a closed connection: later results could not be trusted
			if err != nil && strings.Contains(err.Error(), left.Error()) {
				return named(s, err)
			}
			return errors.Join(named(s, err), named(s, fmt.Errorf("clean up: %w", left)))
		case errors.Is(err, errors.ErrUnsupported):
			record.Note = err.Error()
		case err != nil:
			return named(s, err)
		}
		record.Values = values
		if err := j.Add(record); err != nil {
			return err
		}
	}
	return nil
}

// Ahead returns the steps that have no record.
func Ahead(steps []plan.Step, j *measure.Journal) []plan.Step {
	var ahead []plan.Step
	for _, s := range steps {
		if !j.Done(s.Record()) {
			ahead = append(ahead, s)
		}
	}
	return ahead
}

// named adds the step to an error.
func named(s plan.Step, err error) error {
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("%s on %s, %s, %s: %w", s.Scenario.Name, s.Engine.Name(), s.Kind.Name, s.Params, err)
}

// measureStep returns the values of a step, and an error if its tables could not be dropped.
func measureStep(ctx context.Context, s plan.Step, o scenario.Options, p *progress) (values map[string]float64, left, err error) {
	b := &scenario.Bench{Engine: s.Engine, Options: o, Kind: s.Kind, Params: s.Params, Round: s.Round, Progress: p.rows}
	values, err = s.Scenario.Run(ctx, b)
	return values, b.Clean(ctx), err
}
