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
indexes, and the speed of inserting, finding and deleting rows.

	go run ./storage                                  SQLite; needs no server, takes half a minute
	go run ./storage -db sqlite,postgres,mariadb      also on servers, at 127.0.0.1 or -postgres, -mariadb
	go run ./storage -keys auto,snowflake,uuidv4 -scenario load -rows 1000000 -rounds 5
	go run ./storage -out report                      also writes report/index.html, RESULTS.md, summary.csv, summary.json;
	                                                  after Ctrl-C run the same command again to continue
	go run ./storage -report report                   writes them again without measuring
	go run ./storage -report report -docs docs        also writes bytes.svg, rate.svg and table.md for a README
	go run ./storage -advise -h                       predicts density and fill factor
	go run ./storage -db sqlite,postgres -cleanup     removes what killed runs left behind

The output is a table for each scenario, database and case, with each figure's ratio to auto-increment. NO_COLOR disables
colours. The exit code is 0, 1 after an error, 130 after Ctrl-C.

It works in a schema, a database or a file of its own, which it removes. After a kill the next run lists what is left.

`

const (
	defaultPostgres = "postgres://postgres@127.0.0.1:5432/test"
	defaultMariaDB  = "root@tcp(127.0.0.1:3306)/test"
	// mostBatch is the number of rows with four columns for which a SQLite statement has enough parameters (32,766).
	mostBatch = 8000
)

// settings are the flags.
type settings struct {
	engines   []string
	config    engine.Config
	scenarios []scenario.Scenario
	options   scenario.Options
	baseline  string
	out       string
	format    string
	report    string // folder to render again
	docs      string // folder for a README's charts
	command   string // the flags without DSNs, which may contain passwords
	cleanup   bool

	baselineSet bool // set by a flag
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("storage", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	explain := func() {
		flags.SetOutput(out)
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	engines := flags.String("db", "sqlite", "databases: sqlite, postgres, mariadb")
	flags.StringVar(&s.config.Postgres, "postgres", "",
		"`DSN` of PostgreSQL; new: a temporary server with a small cache, from installed binaries\n"+
			"(default SNOWFLAKE_TEST_POSTGRES, or "+defaultPostgres+")")
	flags.StringVar(&s.config.Postgres18, "postgres18", "new", "`DSN` of a second PostgreSQL, 18 or later; new:FOLDER: as for PostgreSQL")
	flags.StringVar(&s.config.MariaDB, "mariadb", "",
		"`DSN` of MariaDB or MySQL; new: as for PostgreSQL\n"+
			"(default SNOWFLAKE_TEST_MYSQL, or "+defaultMariaDB+")")
	flags.StringVar(&s.config.SQLiteDir, "dir", "", "`folder` for SQLite's file (default a temporary one)")
	flags.BoolVar(&s.config.Durable, "durable", false, "flush each commit to the disk")
	kinds := flags.String("keys", "",
		"kinds of keys: "+strings.Join(key.Names(key.Kinds()), ", ")+" (default those of each scenario)")
	scenarios := flags.String("scenario", "", "scenarios (default all): "+scenarioNames())
	flags.IntVar(&s.options.Rows, "rows", 50_000, "rows of a table, at least 1")
	batches := flags.String("batch", "1,1000", "rows a statement")
	clients := flags.String("clients", "1,4", "concurrent clients")
	flags.IntVar(&s.options.Rounds, "rounds", 3, "how often each case is measured, at least 1")
	flags.Uint64Var(&s.options.Seed, "seed", 1, "seed of the random numbers")
	flags.StringVar(&s.baseline, "baseline", "auto", "the kind that the others are compared with")
	flags.StringVar(&s.out, "out", "", "`folder` for the report; an existing one is resumed")
	flags.StringVar(&s.report, "report", "", "`folder` of a report to write again, without measuring")
	flags.StringVar(&s.docs, "docs", "", "`folder` for the charts and the table of a README")
	flags.StringVar(&s.format, "format", "table", "on standard output: table, csv, json")
	flags.BoolVar(&s.cleanup, "cleanup", false, "remove what killed runs left behind, and measure nothing")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			explain()
		}
		return s, err
	}
	// Not defaults of the flags: -h would print a password.
	if s.config.Postgres == "" {
		s.config.Postgres = env("SNOWFLAKE_TEST_POSTGRES", defaultPostgres)
	}
	if s.config.MariaDB == "" {
		s.config.MariaDB = env("SNOWFLAKE_TEST_MYSQL", defaultMariaDB)
	}
	flags.Visit(func(f *flag.Flag) { s.baselineSet = s.baselineSet || f.Name == "baseline" })
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	}
	s.command = commandLine(flags)
	var err, failed error
	note := func(name string, err error) {
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("-%s: %w", name, err))
		}
	}
	s.engines = split(*engines)
	for _, name := range s.engines {
		if !slices.Contains(engine.Names(), name) {
			note("db", fmt.Errorf("unknown database %q; there are %s", name, strings.Join(engine.Names(), ", ")))
		}
	}
	if s.options.Batch, err = numbers(*batches, mostBatch); err != nil {
		note("batch", err)
	}
	if s.options.Clients, err = numbers(*clients, 1000); err != nil {
		note("clients", err)
	}
	if *kinds != "" {
		s.options.Kinds, err = key.Find(split(*kinds))
		note("keys", err)
	}
	if _, err := key.Find([]string{s.baseline}); err != nil {
		note("baseline", err)
	}
	s.scenarios = scenario.All()
	if *scenarios != "" {
		s.scenarios, err = scenario.Find(split(*scenarios))
		note("scenario", err)
	}
	for _, one := range []struct {
		name string
		n    int
	}{{"rows", s.options.Rows}, {"rounds", s.options.Rounds}} {
		if one.n < 1 {
			note(one.name, fmt.Errorf("%d is less than 1", one.n))
		}
	}
	if len(s.engines) == 0 {
		note("db", fmt.Errorf("no database; there are %s", strings.Join(engine.Names(), ", ")))
	}
	if !slices.Contains([]string{"table", "csv", "json"}, s.format) {
		note("format", fmt.Errorf("unknown format %q; there are table, csv, json", s.format))
	}
	if s.report != "" && s.out != "" {
		note("report", errors.New("-out cannot be combined with it, because it measures nothing"))
	}
	return s, failed
}

// commandLine returns the given flags for the report: folders by their last name only, and no DSN, which may contain a
// password.
func commandLine(flags *flag.FlagSet) string {
	line := "go run ./storage"
	flags.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		switch f.Name {
		case "postgres", "mariadb":
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

func scenarioNames() string {
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func split(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// numbers reads a list of numbers from 1 to most.
func numbers(list string, most int) ([]int, error) {
	var ns []int
	for _, part := range split(list) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		if n < 1 || n > most {
			return nil, fmt.Errorf("%d is out of range [1, %d]", n, most)
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 {
		return nil, errors.New("no number given")
	}
	return ns, nil
}
