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
	go run ./storage -out report                      also writes report/RESULTS.md and results.txt
	go run ./storage -report report                   writes them again without measuring
	go run ./storage -report report -docs docs        also writes table.md and bytes.svg, for a README

The output is a table for each scenario, database and case, with each figure's ratio to auto-increment. The exit code is
0, 1 after an error, 130 after Ctrl-C.

It works in a schema, a database or a file of its own, which it removes. Only a kill leaves it behind; its name
begins with sqlflake.
benchstat compares two runs:

	benchstat -table goos -ignore .config,/round,/beside old/results.txt new/results.txt

`

const (
	defaultPostgres = "postgres://postgres@127.0.0.1:5432/test"
	defaultMariaDB  = "root@tcp(127.0.0.1:3306)/test"
	mostRows        = 1_000_000_000 // about 100 GB
	mostRounds      = 1000
)

// settings are the flags.
type settings struct {
	engines   []string
	at        map[string]*string // for engine.Open, by engine
	scenarios []scenario.Scenario
	options   scenario.Options
	out       string
	report    string // folder or file to render again
	docs      string // folder for a README's chart and table
	command   string // the flags without DSNs, which may contain passwords
}

// names is the value of a flag: known names that are separated by commas, each once.
type names struct{ known, values []string }

func (n *names) String() string { return strings.Join(n.values, ",") }

// Set reads the names.
func (n *names) Set(text string) error {
	n.values = nil
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(n.known, name) {
			return fmt.Errorf("%q is unknown; there are %s", name, strings.Join(n.known, ", "))
		}
		if !slices.Contains(n.values, name) {
			n.values = append(n.values, name)
		}
	}

	return nil
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
		"sqlite": new(string), // a temporary folder
	}
}

// parse reads the flags, and writes help to out if they ask for it.
func parse(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("storage", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	engines := &names{engine.Names(), []string{"sqlite"}}
	kinds := &names{key.Names(key.Kinds()), nil}
	scenarios := &names{scenario.Names(), scenario.Names()}
	flags.Var(engines, "db", "databases: "+strings.Join(engines.known, ", "))
	flags.Var(kinds, "keys", "kinds of keys (default those of each scenario): "+strings.Join(kinds.known, ", "))
	flags.Var(scenarios, "scenario", "scenarios")
	flags.IntVar(&s.options.Rows, "rows", 20_000, "rows of a table")
	flags.IntVar(&s.options.Rounds, "rounds", 6, "how often each case is measured; a verdict on a speed needs 6")
	s.at = places(flags)
	flags.StringVar(&s.out, "out", "", "new `folder` for the report")
	flags.StringVar(&s.report, "report", "",
		"`folder` of a report, or its results.txt or .txt.gz, to write again without measuring")
	flags.StringVar(&s.docs, "docs", "", "`folder` for the picture and the table of a README")

	if err = flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	if err != nil {
		return s, err
	}

	s.engines, s.scenarios = engines.values, scenario.Find(scenarios.values)
	if kinds.values != nil {
		s.options.Kinds = key.Find(kinds.values)
	}

	s.options.Seed, s.options.Batch, s.options.Clients = 1, []int{1, 10, 100, 1000}, 8
	// Not defaults of the flags: -h would print a password.
	*s.at["postgres"] = cmp.Or(*s.at["postgres"], os.Getenv("SNOWFLAKE_TEST_POSTGRES"), defaultPostgres)
	*s.at["mariadb"] = cmp.Or(*s.at["mariadb"], os.Getenv("SNOWFLAKE_TEST_MYSQL"), defaultMariaDB)
	s.command = commandLine(flags)
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

	for _, f := range []struct {
		name        string
		value, most int
	}{{"-rows", s.options.Rows, mostRows}, {"-rounds", s.options.Rounds, mostRounds}} {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("%s: %d is not in [1, %d]", f.name, f.value, f.most)
		}
	}

	for _, k := range s.options.Kinds {
		if !slices.ContainsFunc(s.engines, k.OnEngine) {
			return fmt.Errorf("-keys: %s is a kind of %s only; add it to -db", k.Name, k.Only)
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
		case "out", "report", "docs":
			value = filepath.Base(value)
		}

		if value == "" || strings.ContainsAny(value, " \t\n\"'$&|;<>()*?`\\") {
			value = strconv.Quote(value)
		}

		line += " -" + f.Name + " " + value
	})

	return line
}
