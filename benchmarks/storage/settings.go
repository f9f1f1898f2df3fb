package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

const usage = `storage compares auto-increment, snowflake and UUID primary keys: the bytes that they take in tables and
indexes, and the speed of inserting, finding, changing and deleting rows.

	go run ./storage                                  SQLite; needs no server, takes a minute and a half
	go run ./storage -db sqlite,postgres,mariadb      also on servers, at 127.0.0.1 or -postgres, -mariadb
	go run ./storage -keys snowflake,uuidv4 -scenario load -rows 1000000
	go run ./storage -out report                      also writes report/index.html, RESULTS.md, results.txt, summary.csv,
	                                                  summary.json; after Ctrl-C run the same command again to continue
	go run ./storage -report report                   writes them again without measuring
	go run ./storage -report report -docs docs        also writes bytes.svg, rate.svg and table.md for a README
	go run ./storage -compare old new                 what differs between two folders, or .txt or .txt.gz files
	go run ./storage -advise -h                       predicts density and fill factor
	go run ./storage -db sqlite,postgres -cleanup     removes what killed runs left behind

The output is a table for each scenario, database and case, with each figure's ratio to auto-increment. NO_COLOR disables
colours. The exit code is 0, 1 after an error, 130 after Ctrl-C.

It works in a schema, a database or a file of its own, which it removes. After a kill the next run lists what is left.

-compare prints what differs beyond noise: speeds of at least 6 rounds with p < 0.01 by the Mann-Whitney test and medians
2 % apart, sizes 2 % apart. benchstat reads the same files:

	benchstat -table goos -ignore .config,/round,/beside old/results.txt new/results.txt

`

const (
	defaultPostgres = "postgres://postgres@127.0.0.1:5432/test"
	defaultMariaDB  = "root@tcp(127.0.0.1:3306)/test"
	// mostBatch is the number of rows with four columns for which a SQLite statement has enough parameters (32,766).
	mostBatch = 8000
	// mostRows fill about 100 GB.
	mostRows = 1_000_000_000
)

// settings are the flags.
type settings struct {
	engines   []string
	config    engine.Config
	scenarios []scenario.Scenario
	options   scenario.Options
	baseline  key.Kind
	out       string
	format    string
	report    string // folder to render again
	docs      string // folder for a README's charts
	command   string // the flags without DSNs, which may contain passwords
	cleanup   bool
	old, new  string // folders to compare
	all       bool   // also what does not differ

	baselineSet bool // by a flag
}

// lists are the flags that need reading.
type lists struct{ engines, kinds, scenarios, batches, clients, baseline *string }

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("storage", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	l := s.define(flags)
	err := flags.Parse(args)
	if s.old != "" && flags.NArg() > 0 {
		s.new = flags.Arg(0)
		err = errors.Join(err, flags.Parse(flags.Args()[1:]))
	}
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(out)
			fmt.Fprint(out, usage)
			flags.PrintDefaults()
		}
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	}
	// Not defaults of the flags: -h would print a password.
	if s.config.Postgres == "" {
		s.config.Postgres = env("SNOWFLAKE_TEST_POSTGRES", defaultPostgres)
	}
	if s.config.MariaDB == "" {
		s.config.MariaDB = env("SNOWFLAKE_TEST_MYSQL", defaultMariaDB)
	}
	flags.Visit(func(f *flag.Flag) { s.baselineSet = s.baselineSet || f.Name == "baseline" })
	s.command = commandLine(flags)
	return s, s.read(l)
}

func (s *settings) define(flags *flag.FlagSet) lists {
	text := flags.String
	names := make([]string, 0, len(scenario.All()))
	for _, one := range scenario.All() {
		names = append(names, one.Name)
	}
	l := lists{
		engines: text("db", "sqlite", "databases: "+strings.Join(engine.Names(), ", ")),
		kinds: text("keys", "", "kinds of keys: "+strings.Join(key.Names(key.Kinds()), ", ")+
			" (default those of each scenario)"),
		scenarios: text("scenario", "", "scenarios (default all): "+strings.Join(names, ", ")),
		batches:   text("batch", "1,1000", "rows a statement"),
		clients:   text("clients", "1,4", "concurrent clients"),
		baseline: text("baseline", "auto",
			"the `kind` that the others are compared with; it is measured also if -keys does not name it"),
	}
	flags.StringVar(&s.config.Postgres, "postgres", "",
		"`DSN` of PostgreSQL; new: a temporary server with a small cache, from installed binaries;\n"+
			"new:FOLDER: from the binaries of a folder (default SNOWFLAKE_TEST_POSTGRES, or "+defaultPostgres+")")
	flags.StringVar(&s.config.Postgres18, "postgres18", newServer, "`DSN` of a second PostgreSQL, 18 or later, or new, or new:FOLDER")
	flags.StringVar(&s.config.MariaDB, "mariadb", "",
		"`DSN` of MariaDB or MySQL, or new, or new:FOLDER (default SNOWFLAKE_TEST_MYSQL, or "+defaultMariaDB+")")
	flags.StringVar(&s.config.SQLiteDir, "dir", "", "`folder` for SQLite's file (default a temporary one)")
	flags.BoolVar(&s.config.Durable, "durable", false, "flush each commit to the disk")
	flags.IntVar(&s.options.Rows, "rows", 20_000, "rows of a table")
	flags.IntVar(&s.options.Rounds, "rounds", 6, "how often each case is measured; a verdict on a speed needs 6")
	flags.Uint64Var(&s.options.Seed, "seed", 1, "seed of the random numbers")
	flags.StringVar(&s.out, "out", "", "`folder` for the report; an existing one is resumed, with the same settings")
	flags.StringVar(&s.report, "report", "", "`folder` of a report to write again, without measuring")
	flags.StringVar(&s.docs, "docs", "", "`folder` for the charts and the table of a README")
	flags.StringVar(&s.format, "format", formats[0], "on standard output: "+strings.Join(formats, ", "))
	flags.StringVar(&s.old, "compare", "", "two `folders` to compare, without measuring")
	flags.BoolVar(&s.all, "all", false, "with -compare: also what does not differ")
	flags.BoolVar(&s.cleanup, "cleanup", false, "remove what killed runs left behind, and measure nothing")
	return l
}

// formats are those of standard output.
var formats = []string{"table", "csv", "json"}

// read checks the flags. A name or number that is repeated counts once.
func (s *settings) read(l lists) (failed error) {
	note := func(name string, err error) {
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("-%s: %w", name, err))
		}
	}
	var err error
	s.engines, err = oneOf("database", engine.Names(), split(*l.engines)...)
	note("db", err)
	s.options.Batch, err = numbers(*l.batches, mostBatch)
	note("batch", err)
	s.options.Clients, err = numbers(*l.clients, 1000)
	note("clients", err)
	if *l.kinds != "" {
		s.options.Kinds, err = key.Find(split(*l.kinds))
		note("keys", err)
	}
	found, err := key.Find([]string{*l.baseline})
	note("baseline", err)
	s.baseline = append(found, key.Kind{})[0]
	s.scenarios = scenario.All()
	if *l.scenarios != "" {
		s.scenarios, err = scenario.Find(split(*l.scenarios))
		note("scenario", err)
	}
	note("rows", inRange(s.options.Rows, mostRows))
	note("rounds", inRange(s.options.Rounds, 1000))
	_, err = oneOf("format", formats, s.format)
	note("format", err)
	if s.report != "" && s.out != "" {
		note("report", errors.New("-out cannot be combined with it, because it measures nothing"))
	}
	if s.old != "" && s.new == "" {
		note("compare", errors.New("a second folder is missing: -compare OLD NEW"))
	}
	if failed == nil && s.report == "" {
		failed = s.checkKinds()
	}
	return failed
}

// checkKinds returns an error if the databases lack the kinds that the flags name.
func (s *settings) checkKinds() error {
	for _, k := range s.options.Kinds {
		if !slices.ContainsFunc(s.engines, k.OnEngine) {
			return fmt.Errorf("-keys: %s is a kind of %s only; add it to -db", k.Name, k.Only)
		}
	}
	for _, name := range s.engines {
		has := func(k key.Kind) bool { return k.OnEngine(name) }
		if !has(s.baseline) {
			return fmt.Errorf("-baseline: %s is a kind of %s only, but -db has %s", s.baseline.Name, s.baseline.Only, name)
		}
		if s.options.Kinds != nil && !slices.ContainsFunc(s.options.Kinds, has) {
			return fmt.Errorf("-keys: %s has none of these kinds", name)
		}
	}
	return nil
}

// commandLine returns the given flags for the report: folders by their last name only, and no DSN, which may contain a
// password.
func commandLine(flags *flag.FlagSet) string {
	line := "go run ./storage"
	flags.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		switch f.Name {
		case "postgres", "postgres18", "mariadb":
			value = "DSN"
		case "out", "dir", "report", "docs":
			value = filepath.Base(value)
		}
		if value == "" || strings.ContainsAny(value, " \t\n\"'$&|;<>()*?`\\") {
			value = strconv.Quote(value)
		}
		line += " -" + f.Name
		if value == "true" {
			return
		}
		line += " " + value
	})
	return line
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// split returns the parts of a list, each once.
func split(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// oneOf returns the names, or an error if one is unknown or there is none.
func oneOf(what string, known []string, names ...string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown %s %q; there are %s", what, name, strings.Join(known, ", "))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no %s; there are %s", what, strings.Join(known, ", "))
	}
	return names, nil
}

func inRange(n, most int) error {
	if n < 1 || n > most {
		return fmt.Errorf("%d is out of range [1, %d]", n, most)
	}
	return nil
}

// numbers reads a list of numbers from 1 to most.
func numbers(list string, most int) ([]int, error) {
	var ns []int
	for _, part := range split(list) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		if err := inRange(n, most); err != nil {
			return nil, err
		}
		if !slices.Contains(ns, n) { // "1,01"
			ns = append(ns, n)
		}
	}
	if len(ns) == 0 {
		return nil, errors.New("no number given")
	}
	return ns, nil
}
