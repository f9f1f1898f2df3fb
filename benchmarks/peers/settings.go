package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/scenario"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/speed"
)

const usage = `peers compares the generator and the IDs of this module with those of other libraries.

	go run ./peers                       all of it; takes about 4 minutes on 2 cores
	go run ./peers -only scenarios       which generators give an ID twice, and when; 25 seconds
	go run ./peers -only speed           the time of an ID, of waiting, of text and JSON; a minute and a half
	go run ./peers -only curves          cost as work grows; a minute
	go run ./peers -out run              also keeps the figures; after Ctrl-C run the same command again to continue
	go run ./peers -report run           prints them again without measuring
	go run ./peers -report run -docs docs    also writes the tables and charts of the READMEs

Subjects take turns of some ms, so that a change of the machine's speed meets all of them. What other programs disturbed is left
out (Linux says so). A figure is the median of the rounds, each the median of its turns.
The exit code is 0, 1 after an error, 130 after Ctrl-C.

`

// parts are the names for -only.
var parts = []string{"scenarios", "speed", "curves"}

type settings struct {
	only, out, report, docs, postgres string
	json                              bool
	rounds, turns                     int
	length                            time.Duration
	command                           string // the flags without the DSN, which may contain a password
}

func parse(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	flags.StringVar(&s.only, "only", "", "one part: "+strings.Join(parts, ", "))
	flags.BoolVar(&s.json, "json", false, "print JSON instead of tables")
	flags.IntVar(&s.rounds, "rounds", 6, "how often each case is measured")
	flags.IntVar(&s.turns, "turns", 24, "turns of each subject in a round")
	flags.DurationVar(&s.length, "turn", 2*time.Millisecond, "length of a turn")
	flags.StringVar(&s.postgres, "postgres", "", "`DSN` of PostgreSQL for the curve of processes, or off\n"+
		"(default SNOWFLAKE_TEST_POSTGRES; none: SQLite only)")
	flags.StringVar(&s.out, "out", "", "`folder` for the figures; an existing one is resumed, with the same settings")
	flags.StringVar(&s.report, "report", "", "`folder`, .txt or .txt.gz file of figures to print, without measuring")
	flags.StringVar(&s.docs, "docs", "", "`folder` for the tables and charts of the READMEs")
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
		return s, err
	}
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	case s.only != "" && !slices.Contains(parts, s.only):
		err = fmt.Errorf("-only: %q is unknown; there are %s", s.only, strings.Join(parts, ", "))
	case s.only != "" && s.docs != "":
		err = errors.New("-docs needs all parts: leave out -only")
	case s.rounds < 1 || s.turns < 1 || s.rounds > 1000 || s.turns > 10_000:
		err = errors.New("-rounds is in [1, 1000] and -turns in [1, 10000]")
	case s.length < 100*time.Microsecond || s.length > time.Second:
		err = errors.New("-turn is in [100µs, 1s]")
	}
	flags.Visit(func(f *flag.Flag) {
		if err == nil && s.report != "" && !slices.Contains([]string{"report", "docs", "json"}, f.Name) {
			err = fmt.Errorf("-%s is for measuring, and -report prints figures that exist", f.Name)
		}
	})
	if s.postgres == "" { // not the default of the flag: -h would print a password
		s.postgres = os.Getenv("SNOWFLAKE_TEST_POSTGRES")
	}
	if s.postgres == "off" || s.postgres == "throwaway" { // of the tests
		s.postgres = ""
	}
	s.command = "go run ./peers"
	flags.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		switch f.Name {
		case "postgres":
			value = "DSN"
		case "out", "report", "docs":
			value = filepath.Base(value)
		}
		s.command += fmt.Sprintf(" -%s %s", f.Name, value)
	})
	return s, err
}

// cases returns what is to be measured.
func (s settings) cases() []bench.Case {
	effort := speed.Effort{Turns: s.turns, Length: s.length}
	all := map[string][]bench.Case{
		"scenarios": scenario.Cases(),
		"speed":     speed.Cases(effort),
		"curves":    append(speed.Curves(effort), scenario.Processes(s.postgres, 50_000*s.turns)...),
	}
	if s.only != "" {
		return all[s.only]
	}
	return slices.Concat(all["scenarios"], all["speed"], all["curves"])
}
