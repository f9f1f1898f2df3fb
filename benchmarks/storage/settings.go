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
indexes, and the speed of inserting rows.

	go run ./storage                                  SQLite; needs no server, takes about a minute
	go run ./storage -db sqlite,postgres,mariadb      also on servers, at 127.0.0.1 or -postgres, -mariadb
	go run ./storage -keys snowflake,uuidv4 -scenario load -rows 1000000
	go run ./storage -out report                      also writes report/RESULTS.md with bytes.svg, and results.txt
	go run ./storage -report report                   writes them again without measuring
	go run ./storage -report report -docs docs        also writes table.md, and bytes.svg there, for a README

The output is a table for each scenario, database and case, with each figure's ratio to auto-increment. The exit code is
0, 1 after an error, 130 after Ctrl-C.

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
	at          map[string]*string // for engine.Open, by engine
	scenarios   []scenario.Scenario
	options     scenario.Options
	baseline    key.Kind
	baselineSet bool // by a flag
	out         string
	report      string // folder or file to render again
	docs        string // folder for a README's chart and table
	command     string // the flags without DSNs, which may contain passwords
}

// list is the value of a flag: parts that are separated by commas, each once.
type list[T comparable] struct {
	text   string
	values []T
	one    bool // part
	parse  func(part string) (T, error)
}

func (l *list[T]) String() string { return l.text }

func (l *list[T]) Set(text string) error {
	l.text, l.values = text, nil
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}

		value, err := l.parse(part)
		if err != nil {
			return err
		}

		if !slices.Contains(l.values, value) {
			l.values = append(l.values, value)
		}
	}

	switch {
	case len(l.values) == 0:
		return errors.New("no value given")
	case l.one && len(l.values) > 1:
		return fmt.Errorf("%d values, but there can be 1", len(l.values))
	}

	return nil
}

// define adds a list to the flags and returns its values: nil if there are none by default.
func define[T comparable](
	flags *flag.FlagSet, name, text string, one bool, usage string, parse func(string) (T, error),
) *[]T {
	l := &list[T]{one: one, parse: parse}
	_ = l.Set(text)
	flags.Var(l, name, usage)
	return &l.values
}

// names defines a flag whose values are among the known ones.
func names(flags *flag.FlagSet, name, text string, one bool, usage string, known []string) *[]string {
	usage += ": " + strings.Join(known, ", ")
	return define(flags, name, text, one, usage, func(part string) (string, error) {
		if !slices.Contains(known, part) {
			return "", fmt.Errorf("%q is unknown; there are %s", part, strings.Join(known, ", "))
		}
		return part, nil
	})
}

// numbers defines a flag whose values are numbers from 1 to most.
func numbers(flags *flag.FlagSet, name, text string, one bool, usage string, most int) *[]int {
	return define(flags, name, text, one, usage, func(part string) (int, error) {
		n, err := strconv.Atoi(part)
		inRange := n >= 1 && n <= most
		if err != nil || !inRange {
			return 0, fmt.Errorf("%q is not a number in [1, %d]", part, most)
		}
		return n, nil
	})
}

// places defines the flags for the places of the engines.
func places(flags *flag.FlagSet) map[string]*string {
	return map[string]*string{
		"postgres": flags.String("postgres", "",
			"`DSN` of PostgreSQL; new: a temporary server with a small cache, from installed binaries;\n"+
				"new:FOLDER: from the binaries of a folder (default SNOWFLAKE_TEST_POSTGRES, or "+defaultPostgres+")"),
		"postgres18": flags.String("postgres18", newServer,
			"`DSN` of a second PostgreSQL, 18 or later, or new, or new:FOLDER"),
		"mariadb": flags.String("mariadb", "",
			"`DSN` of MariaDB or MySQL, or new, or new:FOLDER (default SNOWFLAKE_TEST_MYSQL, or "+defaultMariaDB+")"),
		"sqlite": flags.String("dir", "", "`folder` for SQLite's file (default a temporary one)"),
	}
}

// parse reads the flags, and writes help to out if they ask for it.
func parse(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("storage", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	all := key.Names(key.Kinds())
	engines := names(flags, "db", "sqlite", false, "databases", engine.Names())
	kinds := names(flags, "keys", "", false, "kinds of keys (default those of each scenario)", all)
	baseline := names(flags, "baseline", "auto", true,
		"the `kind` that the others are compared with, even if -keys does not name it", all)
	scenarios := names(flags, "scenario", "", false, "scenarios (default all)", scenario.Names())
	rows := numbers(flags, "rows", "20000", true, "rows of a table", mostRows)
	rounds := numbers(flags, "rounds", "6", true, "how often each case is measured; a verdict on a speed needs 6", 1000)
	batch := numbers(flags, "batch", "1,10,100,1000", false,
		"rows a statement; one writer takes the least and the most", mostBatch)
	clients := numbers(flags, "clients", "8", false, "concurrent clients", 1000)
	s.at = places(flags)
	flags.Uint64Var(&s.options.Seed, "seed", 1, "seed of the random numbers")
	flags.StringVar(&s.out, "out", "", "new `folder` for the report")
	flags.StringVar(&s.report, "report", "",
		"`folder` of a report, or its results.txt or .txt.gz, to write again without measuring")
	flags.StringVar(&s.docs, "docs", "",
		"`folder` for the picture and the table of a README; RESULTS.md then shows no picture")

	if err = flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	if err != nil {
		return s, err
	}

	s.engines, s.baseline, s.scenarios = *engines, key.Find(*baseline)[0], scenario.All()
	if *scenarios != nil {
		s.scenarios = scenario.Find(*scenarios)
	}
	if *kinds != nil {
		s.options.Kinds = key.Find(*kinds)
	}

	s.options.Rows, s.options.Rounds = (*rows)[0], (*rounds)[0]
	s.options.Batch, s.options.Clients = *batch, *clients
	// Not defaults of the flags: -h would print a password.
	*s.at["postgres"] = cmp.Or(*s.at["postgres"], os.Getenv("SNOWFLAKE_TEST_POSTGRES"), defaultPostgres)
	*s.at["mariadb"] = cmp.Or(*s.at["mariadb"], os.Getenv("SNOWFLAKE_TEST_MYSQL"), defaultMariaDB)
	s.command = commandLine(flags)
	flags.Visit(func(f *flag.Flag) { s.baselineSet = s.baselineSet || f.Name == "baseline" })

	return s, s.check(flags.Args())
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
			return fmt.Errorf("-baseline: %s is a kind of %s only, but -db has %s",
				s.baseline.Name, s.baseline.Only, name)
		}
		isHere := func(k key.Kind) bool { return k.OnEngine(name) }
		if s.options.Kinds != nil && !slices.ContainsFunc(s.options.Kinds, isHere) {
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
