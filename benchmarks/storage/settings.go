package main

import (
	"cmp"
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
indexes, and the speed of inserting and finding rows.

	go run ./storage                                  SQLite; needs no server, takes about a minute
	go run ./storage -db sqlite,postgres,mariadb      also on servers, at 127.0.0.1 or -postgres, -mariadb
	go run ./storage -keys snowflake,uuidv4 -scenario load -rows 1000000
	go run ./storage -out report                      also writes report/index.html, RESULTS.md, results.txt, summary.csv,
	                                                  summary.json; after Ctrl-C run the same command again to continue
	go run ./storage -report report                   writes them again without measuring
	go run ./storage -report report -docs docs        also writes bytes.svg and table.md for a README

The output is a table for each scenario, database and case, with each figure's ratio to auto-increment. The exit code is 0,
1 after an error, 130 after Ctrl-C.

It works in a schema, a database or a file of its own, which it removes. After a kill the next run names what is left.
benchstat compares two runs:

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
	engines     []string
	config      engine.Config
	scenarios   []scenario.Scenario
	options     scenario.Options
	baseline    key.Kind
	baselineSet bool // by a flag
	out         string
	format      string
	report      string // folder or file to render again
	docs        string // folder for a README's chart and table
	command     string // the flags without DSNs, which may contain passwords
}

// list is the value of a flag of which set checks each part of a list that is separated by commas.
type list struct {
	text string
	set  func(parts []string) error
}

func (l *list) String() string { return l.text }

func (l *list) Set(text string) error {
	l.text = text
	parts := split(text)
	if len(parts) == 0 {
		return errors.New("no value given")
	}
	return l.set(parts)
}

func parse(args []string, out io.Writer) (settings, error) {
	s := settings{engines: []string{"sqlite"}, baseline: key.Kinds()[0], scenarios: scenario.All(), format: "table"}
	s.options = scenario.Options{Rows: 20_000, Rounds: 6, Batch: []int{1, 1000}, Clients: []int{1, 8}}
	flags := flag.NewFlagSet("storage", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	s.define(flags)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	if err == nil {
		err = s.check(flags.Args())
	}
	// Not defaults of the flags: -h would print a password.
	s.config.Postgres = cmp.Or(s.config.Postgres, os.Getenv("SNOWFLAKE_TEST_POSTGRES"), defaultPostgres)
	s.config.MariaDB = cmp.Or(s.config.MariaDB, os.Getenv("SNOWFLAKE_TEST_MYSQL"), defaultMariaDB)
	s.command = commandLine(flags)
	flags.Visit(func(f *flag.Flag) { s.baselineSet = s.baselineSet || f.Name == "baseline" })
	return s, err
}

func (s *settings) define(flags *flag.FlagSet) {
	kinds := key.Names(key.Kinds())
	names := func(name, otherwise, usage string, known []string, most int, set func(names []string)) {
		flags.Var(&list{otherwise, func(parts []string) error {
			for _, part := range parts {
				if !slices.Contains(known, part) {
					return fmt.Errorf("%q is unknown; there are %s", part, strings.Join(known, ", "))
				}
			}
			if len(parts) > most {
				return fmt.Errorf("%d values, but there can be %d", len(parts), most)
			}
			set(parts)
			return nil
		}}, name, usage+": "+strings.Join(known, ", "))
	}
	names("db", "sqlite", "databases", engine.Names(), 9, func(names []string) { s.engines = names })
	names("keys", "", "kinds of keys (default those of each scenario)", kinds, 99, func(names []string) {
		s.options.Kinds, _ = key.Find(names)
	})
	names("baseline", "auto", "the `kind` that the others are compared with, also if -keys does not name it", kinds, 1,
		func(names []string) {
			found, _ := key.Find(names)
			s.baseline = found[0]
		})
	names("scenario", "", "scenarios (default all)", scenario.Names(), 99, func(names []string) {
		s.scenarios = scenario.Find(names)
	})
	names("format", "table", "on standard output", []string{"table", "csv", "json"}, 1, func(names []string) {
		s.format = names[0]
	})
	numbers := func(name, otherwise, usage string, most int, set func(ns []int)) {
		flags.Var(&list{otherwise, func(parts []string) error {
			var ns []int
			for _, part := range parts {
				n, err := strconv.Atoi(part)
				if err != nil || n < 1 || n > most {
					return fmt.Errorf("%q is not a number in [1, %d]", part, most)
				}
				if !slices.Contains(ns, n) { // "1,01"
					ns = append(ns, n)
				}
			}
			set(ns)
			return nil
		}}, name, usage)
	}
	numbers("rows", "20000", "rows of a table", mostRows, func(ns []int) { s.options.Rows = ns[0] })
	numbers("rounds", "6", "how often each case is measured; a verdict on a speed needs 6", 1000, func(ns []int) {
		s.options.Rounds = ns[0]
	})
	numbers("batch", "1,1000", "rows a statement", mostBatch, func(ns []int) { s.options.Batch = ns })
	numbers("clients", "1,8", "concurrent clients", 1000, func(ns []int) { s.options.Clients = ns })
	flags.StringVar(&s.config.Postgres, "postgres", "",
		"`DSN` of PostgreSQL; new: a temporary server with a small cache, from installed binaries;\n"+
			"new:FOLDER: from the binaries of a folder (default SNOWFLAKE_TEST_POSTGRES, or "+defaultPostgres+")")
	flags.StringVar(&s.config.Postgres18, "postgres18", newServer, "`DSN` of a second PostgreSQL, 18 or later, or new, or new:FOLDER")
	flags.StringVar(&s.config.MariaDB, "mariadb", "",
		"`DSN` of MariaDB or MySQL, or new, or new:FOLDER (default SNOWFLAKE_TEST_MYSQL, or "+defaultMariaDB+")")
	flags.StringVar(&s.config.SQLiteDir, "dir", "", "`folder` for SQLite's file (default a temporary one)")
	flags.Uint64Var(&s.options.Seed, "seed", 1, "seed of the random numbers")
	flags.StringVar(&s.out, "out", "", "`folder` for the report; an existing one is resumed, with the same settings")
	flags.StringVar(&s.report, "report", "", "`folder` of a report, or its results.txt or .txt.gz, to write again without measuring")
	flags.StringVar(&s.docs, "docs", "", "`folder` for the chart and the table of a README")
}

// check checks the flags with each other.
func (s *settings) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unknown argument %q; see -h", rest[0])
	}
	if s.report != "" {
		return nil
	}
	for _, k := range s.options.Kinds {
		if !slices.ContainsFunc(s.engines, k.OnEngine) {
			return fmt.Errorf("-keys: %s is a kind of %s only; add it to -db", k.Name, k.Only)
		}
	}
	for _, name := range s.engines {
		if !s.baseline.OnEngine(name) {
			return fmt.Errorf("-baseline: %s is a kind of %s only, but -db has %s", s.baseline.Name, s.baseline.Only, name)
		}
		if s.options.Kinds != nil && !slices.ContainsFunc(s.options.Kinds, func(k key.Kind) bool { return k.OnEngine(name) }) {
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
		line += " -" + f.Name + " " + value
	})
	return line
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
