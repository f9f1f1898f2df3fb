// Package run lists the runs of a comparison in their order, executes them and stores their results.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Step is one run of one kind of key.
type Step struct {
	Engine   engine.Engine
	Scenario scenario.Scenario
	Params   measure.Params
	Kind     key.Kind
	As       string // the kind in the record: the name of Kind, or measure.Again
	Beside   string // of a run of the baseline: the kind that it is compared with
	Round    int
}

// Record returns the record of the step, without values.
func (s Step) Record() measure.Record {
	return measure.Record{
		Engine: s.Engine.Name(), Scenario: s.Scenario.Name, Params: s.Params, Kind: s.As, Beside: s.Beside,
		Round: s.Round,
	}
}

// Steps returns the runs on one engine. In each round the baseline runs directly before or after each other kind, so
// that load of the machine and caches of earlier runs affect both alike. Before and after alternate, and each round
// begins with another kind. One of the kinds is the baseline itself, as measure.Again.
func Steps(e engine.Engine, scenarios []scenario.Scenario, o scenario.Options) []Step {
	var steps []Step
	baseline := key.Kinds()[0]
	isBaseline := func(k key.Kind) bool { return k.Name == baseline.Name }
	for _, s := range scenarios {
		kinds, sizes := s.KindsOn(o, e.Name())
		kinds, sizes = slices.DeleteFunc(kinds, isBaseline), slices.DeleteFunc(sizes, isBaseline)
		for _, params := range s.Cases(o, e) {
			base := Step{Engine: e, Scenario: s, Params: params, Kind: baseline, As: baseline.Name, Round: 1}
			if s.Once != nil && s.Once(params) {
				steps = append(append(steps, base), base.of(kinds)...)
			} else {
				steps = append(steps, base.rounds(kinds, o.Rounds)...)
			}
			steps = append(steps, base.of(sizes)...)
		}
	}

	return steps
}

// of returns the step with each of the kinds.
func (s Step) of(kinds []key.Kind) []Step {
	var steps []Step
	for _, k := range kinds {
		s.Kind, s.As = k, k.Name
		steps = append(steps, s)
	}
	return steps
}

// rounds returns the runs of the kinds and of the baseline, which is s.
func (s Step) rounds(kinds []key.Kind, n int) []Step {
	again := s
	again.As = measure.Again
	others := append([]Step{again}, s.of(kinds)...)
	var steps []Step
	for round := range n {
		for i := range others {
			pair := []Step{s, others[(i+round)%len(others)]}
			pair[0].Beside, pair[0].Round, pair[1].Round = pair[1].As, round+1, round+1
			if round%2 == 1 {
				slices.Reverse(pair)
			}
			steps = append(steps, pair...)
		}
	}

	return steps
}

// lineEvery is how often a line of progress is written.
const lineEvery = 3 * time.Second

// Do runs steps and adds their records to the journal. It ends when ctx does, or with the first error; earlier results
// are in the journal. A step that an engine does not support (errors.ErrUnsupported) gets a record with a note
// alone. Progress is written to w.
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
		if left != nil {
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
