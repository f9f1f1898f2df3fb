// Command peers compares the generator and the IDs of this module with those of other libraries: which of them give an ID
// twice, what an ID, its text and its JSON cost, and how cost grows.
//
//	go run ./peers -only speed
//
// -h lists the flags; the README of this module explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/machine"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/internal/progress"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/report"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/scenario"
	"github.com/sqlflake/sqlflake/internal/tempdir"
)

func main() {
	if scenario.Child() {
		return
	}
	os.Exit(exit())
}

// exit runs the command and returns its exit code.
func exit() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil:
		return 130
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	return 1
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	if s.report == "" {
		return s.measure(ctx, out, progress)
	}
	data, err := measure.ReadFolder(s.report)
	if err == nil && !slices.ContainsFunc(data.Records, s.knows) {
		err = fmt.Errorf("%s has no figures of this command", s.report)
	}
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return s.write(data, out, progress)
}

// measure measures and reports. Finished rounds are reported also after an error or Ctrl-C.
func (s settings) measure(ctx context.Context, out, progress io.Writer) (failed error) {
	folder := s.out
	if folder == "" {
		temporary, err := tempdir.New("", tempdir.Files)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, temporary.Remove()) }()
		folder = temporary.Path
	}
	journal, err := measure.OpenJournal(folder)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, journal.Close()) }()
	env := s.environment(ctx)
	for _, d := range journal.Data().Environment.Differ(env) {
		if d.Name == "commit" {
			return fmt.Errorf("-out: %s has figures of commit %s, this is %s; use another folder", folder, d.Old, d.New)
		}
	}
	if err := journal.Start(env); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if busy := machine.Busy(); busy != "" && len(s.ahead(journal)) > 0 {
		fmt.Fprintln(progress, "Warning:", busy)
		failed = journal.AddNotes("machine", busy)
	}
	failed = errors.Join(failed, s.do(ctx, journal, progress))
	if ctx.Err() != nil && s.out != "" {
		fmt.Fprintf(progress, "Run the same command with -out %s to continue.\n", s.out)
	}
	if data := journal.Data(); len(data.Records) > 0 {
		failed = errors.Join(failed, s.write(data, out, progress))
	}
	return failed
}

// round is a round of a case.
type round struct {
	bench.Case
	number int
}

// ahead returns the rounds that are not in the journal: all cases once, then again, so that what disturbs the machine for
// a minute does not meet all rounds of a case.
func (s settings) ahead(journal *measure.Journal) (all []round) {
	for number := 1; number <= s.rounds; number++ {
		for _, c := range s.cases() {
			for _, r := range c.Records(number) {
				if !journal.Done(r) && (c.Rounds == 0 || number <= c.Rounds) {
					all = append(all, round{c, number})
					break
				}
			}
		}
	}
	return all
}

// do measures what is not in the journal and adds it.
func (s settings) do(ctx context.Context, journal *measure.Journal, w io.Writer) error {
	ahead, total := s.ahead(journal), 0
	for _, r := range ahead {
		total += int(r.Takes.Milliseconds())
	}
	p := progress.New(w, len(ahead), total)
	defer p.Close()
	for _, r := range ahead {
		p.Step(r.Title, int(r.Takes.Milliseconds()))
		found, err := r.Run(ctx, r.number, func(d time.Duration) { p.Add(int(d.Milliseconds())) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Title, err)
		}
		for _, record := range r.Records(r.number) {
			record.Values, record.Note = found[record.Kind].Values, found[record.Kind].Note
			if journal.Done(record) {
				continue
			}
			if err := journal.Add(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// environment describes this run, the machine and the versions of the libraries.
func (s settings) environment(ctx context.Context) measure.Environment {
	env := measure.Environment{
		Time: time.Now().Format(time.RFC3339), Command: s.command, Machine: machine.Describe(ctx),
		Settings: []measure.Setting{{Name: "turns", Value: strconv.Itoa(s.turns)}, {Name: "turn", Value: s.length.String()}},
		Database: map[string][]measure.Setting{},
	}
	info, _ := debug.ReadBuildInfo()
	for name, path := range report.Modules() {
		for _, module := range info.Deps {
			if module.Path == path {
				env.Database[name] = []measure.Setting{{Name: "version", Value: module.Version}}
			}
		}
	}
	return env
}

// knows reports whether a record is of one of the cases.
func (s settings) knows(r measure.Record) bool {
	return slices.ContainsFunc(s.cases(), func(c bench.Case) bool { return c.Scenario == r.Scenario })
}

// complete returns an error if a run of one of the rounds is missing.
func (s settings) complete(data measure.Data) error {
	rounds, have := 0, map[string]bool{}
	for _, r := range data.Records {
		rounds, have[r.ID()] = max(rounds, r.Round), true
		if r.Kind == "postgres" {
			s.postgres = "measured"
		}
	}
	for _, c := range s.cases() {
		for number := 1; number <= rounds && (c.Rounds == 0 || number <= c.Rounds); number++ {
			for _, r := range c.Records(number) {
				if !have[r.ID()] {
					return fmt.Errorf("a README needs all runs, and %s is missing", r.ID())
				}
			}
		}
	}
	return nil
}

// write prints the figures, and writes the files of -docs.
func (s settings) write(data measure.Data, out, progress io.Writer) error {
	r := report.New(data)
	print := r.WriteText
	if s.json {
		print = r.WriteJSON
	}
	if err := print(out); err != nil || s.docs == "" {
		return err
	}
	if err := s.complete(data); err != nil {
		return fmt.Errorf("-docs: %w", err)
	}
	if err := r.WriteDocs(s.docs); err != nil {
		return fmt.Errorf("-docs: %w", err)
	}
	fmt.Fprintf(progress, "The tables and charts of the READMEs are in %s.\n", s.docs)
	return nil
}
