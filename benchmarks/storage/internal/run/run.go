// Package run executes the steps of a plan and stores their results.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
		b := &scenario.Bench{Engine: s.Engine, Options: o, Kind: s.Kind, Params: s.Params, Round: s.Round, Progress: p.rows}
		record := s.Record()
		var err error
		record.Values, err = s.Scenario.Run(ctx, b)
		left := b.Clean(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			record.Note, err = err.Error(), nil
		}
		if left != nil && (err == nil || !strings.Contains(err.Error(), left.Error())) {
			err = errors.Join(err, fmt.Errorf("clean up: %w", left)) // later results could not be trusted
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), left)
		}
		if err != nil {
			return fmt.Errorf("%s on %s, %s, %s: %w", s.Scenario.Name, s.Engine.Name(), s.Kind.Name, s.Params, err)
		}
		if err := j.Add(record); err != nil {
			return err
		}
	}
	return nil
}

// Ahead returns the steps that have no record.
func Ahead(steps []plan.Step, j *measure.Journal) []plan.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return j.Done(s.Record()) })
}
