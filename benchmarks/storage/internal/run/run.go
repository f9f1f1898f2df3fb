package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// lineEvery is how often a line of progress is written.
const lineEvery = 3 * time.Second

// Do runs the steps, of which none has a record in the journal, and adds their records. It ends when ctx does, or with the
// first error; earlier results are in the journal. A step that an engine does not support (errors.ErrUnsupported) gets a
// record with a note and the values that it returned. Progress is written to w.
func Do(ctx context.Context, steps []Step, o scenario.Options, j *measure.Journal, w io.Writer) error {
	number, start, wrote := 0, time.Now(), time.Time{}
	defer func() {
		fmt.Fprintf(w, "%d of %d steps in %v\n", number, len(steps), time.Since(start).Round(time.Second/10))
	}()
	for i, s := range steps {
		number = i + 1
		if time.Since(wrote) >= lineEvery {
			wrote = time.Now()
			fmt.Fprintf(w, "%d/%d %s, %s, %s\n", number, len(steps), s.Engine.Name(), s.Scenario.Name, s.As)
		}
		b := &scenario.Bench{Engine: s.Engine, Options: o, Kind: s.Kind, Params: s.Params, Round: s.Round}
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
func Ahead(steps []Step, j *measure.Journal) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return j.Done(s.Record()) })
}
