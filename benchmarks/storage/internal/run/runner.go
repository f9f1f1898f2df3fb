package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Progress is called as the work proceeds.
type Progress interface {
	// Start is called once with the number of all steps and of those that are done already.
	Start(steps, done int)
	// Step is called before each step.
	Step(s Step)
	// Rows is called when rows are written, from any goroutine.
	Rows(n int)
	// Finished is called after each step.
	Finished(r measure.Record)
	// Stop is called once.
	Stop()
}

// Do runs the steps and adds their records to the journal. It ends when ctx does, or with the first error; earlier
// results are in the journal. A step that an engine does not support (errors.ErrUnsupported) gets a record with a note
// and the values that it returned.
func Do(ctx context.Context, steps []Step, o scenario.Options, j *Journal, p Progress) error {
	done := 0
	for _, s := range steps {
		if j.Done(s.Record()) {
			done++
		}
	}
	p.Start(len(steps), done)
	defer p.Stop()
	for _, s := range steps {
		record := s.Record()
		if j.Done(record) {
			continue
		}
		p.Step(s)
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
		p.Finished(record)
	}
	return nil
}

// named adds the step to an error.
func named(s Step, err error) error {
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("%s on %s, %s, %s: %w", s.Scenario.Name, s.Engine.Name(), s.Kind.Name, s.Params, err)
}

// measureStep returns the values of a step, and an error if its tables could not be dropped.
func measureStep(ctx context.Context, s Step, o scenario.Options, p Progress) (values map[string]float64, left, err error) {
	b := &scenario.Bench{Engine: s.Engine, Options: o, Kind: s.Kind, Params: s.Params, Round: s.Round, Progress: p.Rows}
	values, err = s.Scenario.Run(ctx, b)
	return values, b.Clean(ctx), err
}
