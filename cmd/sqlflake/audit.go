package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

func auditCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show which generators issued the IDs of a table",
		Long: `It reads a column of a table, or without --table IDs from the standard input,
and shows times, workers and rates, and findings: equal IDs, two generators on
one worker, clocks that were set back, IDs of the future, numbers of a counter,
IDs that a spreadsheet or JavaScript has rounded, or that the layout can't have.
It shows what IDs show, and proves nothing: what a primary key refused is in no
table, and a worker all of whose IDs were rounded may look like another one.

Steps back, and most cases of two generators on one worker, show only in the
order of issue: say --order issue if the standard input has it, or --by with a
column such as created_at. Many rows are inserted some time after their ID was
made, so descents of less than --slack do not count; --slack 0 is for the log of
a single generator.

--by also compares the times in the IDs with the column, if it has times, and
finds workers with another epoch, time zone or order of fields: from half an
hour on (or --slack) with a timestamptz of PostgreSQL, from two days on with
others, which may be local times. In the order of such, descents of about an
hour or less count only if --slack is given: clocks are set back in autumn.

It reads the table with one query; a replica will do. If interrupted, it ends
the query on PostgreSQL; MySQL and MariaDB may go on sorting. Without --layout
it guesses, and keeps 8 bytes a row in memory, as with --with, SQLite, the
standard input, a column of text, and a layout with the sequence above the time;
with --by 16.

--with compares with the same column of a second database, for a merge. --since
leaves out older IDs, such as rows that both have by replication.

Exit codes: 0 nothing was found, 1 a failure, 2 wrong arguments, 3 findings,
130 interrupted.

` + dsnHelp,
		Example: `  sqlflake audit --dsn postgres://app@db/shop --table orders
  sqlflake audit --layout twitter --table orders --by created_at --json
  sqlflake audit --table orders --with postgres://app@db2/shop --since 24h
  psql -At -c "SELECT id FROM orders ORDER BY created_at" |
    sqlflake audit --order issue`,
		Args: cobra.NoArgs,
	}
	layout := layoutFlag(c, false)
	c.Flag("layout").Usage = "the `LAYOUT`: the name of a preset, or a text (default $SQLFLAKE_LAYOUT, or else a guess)"
	var at column
	dsn := dsnFlag(c)
	c.Flags().StringVar(&at.table, "table", "",
		"the `NAME` of the table, table or schema.table; one with a dot in double quotes")
	c.Flags().StringVar(&at.column, "column", "id", "the `NAME` of the column with the IDs")
	c.Flags().StringVar(&at.by, "by", "", "a column with the order of issue, its `NAME`")
	with := c.Flags().String("with", "",
		"the `DSN` of a second database, with the same table (default $SQLFLAKE_WITH, unless --by is given)")
	order := choiceFlag(c, "order", "any", "the `ORDER` of the standard input: issue or any (default any)", "issue", "any")
	slack := c.Flags().Duration("slack", snowflake.MaxLead, "the longest descent that is normal, a `DURATION`")
	since := c.Flags().String("since", "", "leave out IDs before the `TIME`, or older than a duration such as 24h")
	asJSON := c.Flags().Bool("json", false, "print JSON, with IDs as strings")
	c.MarkFlagsMutuallyExclusive("with", "by")
	c.MarkFlagsMutuallyExclusive("table", "order")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		ignoreVariable(c.Flag("with"), at.table == "" || at.by != "")
		a := newAudit(layout, now)
		a.slack, a.slackGiven = *slack, c.Flag("slack").Changed
		a.two, a.by, a.issued = *with != "", at.by, at.by != "" || *order == "issue"
		switch {
		case at.table == "" && (at.by != "" || a.two || c.Flag("dsn").Changed):
			return usage("which table? Give --table")
		case at.by != "" && strings.EqualFold(at.by, at.column):
			return usage("--by %s: the order of the IDs is not that of their issue", at.by)
		case *slack < 0:
			return usage("--slack %v, want 0 or more", *slack)
		case *since != "":
			a.since, _, err = spanOf([]string{*since}, a.now, time.UTC)
			if a.since.After(a.now) {
				err = usage("--since %s is in the future", *since)
			}
			if err != nil {
				return err
			}
		}
		if f, ok := c.ErrOrStderr().(*os.File); ok && isatty.IsTerminal(f.Fd()) {
			a.terminal = f
		}
		defer debug.SetGCPercent(debug.SetGCPercent(25)) // most of what is not kept is garbage
		if at.dsn = *dsn; at.table == "" {
			err = a.readInput(c)
		} else {
			err = a.readTable(c.Context(), at, 0)
		}
		if at.dsn = *with; err == nil && a.two {
			err = a.readTable(c.Context(), at, 1)
		}
		if err == nil {
			err = a.analyse(c.Context())
		}
		if err != nil {
			return err
		}
		r := a.report()
		if *asJSON {
			err = writeJSON(c.OutOrStdout(), r)
		} else {
			err = r.write(c.OutOrStdout())
		}
		if err == nil && len(r.Findings) > 0 {
			err = errFindings
		}
		return err
	}
	return c
}

// audit is one run.
type audit struct {
	ledger
	clock  func() time.Time
	given  bool // the layout is
	guess  guessed
	other  string // the layout that one of two databases rather has
	shared finding
	issued bool // the IDs come in the order of issue
	two    bool // there are two databases

	by                 string // the column with the order of issue
	slackGiven, noZone bool   // --slack is; it is not, and the column has no time zone

	read, nulls, notIDs int64
	terminal            io.Writer // for the progress; nil if there is none
	fault               string    // the first value that is not an ID
	lists               [2]idList // by database; in the order of issue, if it is known
	times               idList    // of the rows of the first one with --by, in Unix milliseconds
	unordered           idList    // of rows without a value in the column of --by
}

func newAudit(layout *chosenLayout, clock func() time.Time) *audit {
	return &audit{
		ledger: ledger{masks: masksOf(layout.Layout), generators: map[snowflake.ID]*generator{}, now: clock()},
		clock:  clock, given: layout.given, guess: guessed{Layout: layout.String(), Fits: true},
	}
}

func (a *audit) readInput(c *cobra.Command) error {
	err := eachInput(c.Context(), c, func() error { return nil }, func(word string, _ int) error {
		if id, ok := a.parse(word, readID); ok {
			a.lists[0].add(id)
		}
		return nil
	})
	if errors.Is(err, errNoInput) {
		err = fmt.Errorf("%w; for a table give --table", err)
	}
	return err
}

// analyse counts the IDs that were kept.
func (a *audit) analyse(ctx context.Context) error {
	a.now = a.clock() // what was issued while it read is not of the future
	if !a.given {
		a.chooseLayout()
	}
	if a.issued {
		a.followAll()
	}
	a.times = nil
	for i := range a.unordered.Len() {
		a.lists[0].add(*a.unordered.at(i))
	}
	return a.addAll(ctx)
}

// chooseLayout guesses the layout, which has to fit both databases.
func (a *audit) chooseLayout() {
	samples := [2][]snowflake.ID{append(a.lists[0].sample(), a.unordered.sample()...), a.lists[1].sample()}
	a.guess = guess(slices.Concat(samples[:]...), a.now)
	a.masks = masksOf(a.guess.layout)
	for _, sample := range samples {
		if own := guess(sample, a.now); !own.couldBe(a.guess.Name) {
			a.other = own.Layout
		}
	}
}

// followAll takes the IDs in the order of issue, with the times that their rows have, if they have any.
func (a *audit) followAll() {
	for i := range a.lists[0].Len() {
		at := snowflake.ID(noTime)
		if a.by != "" {
			at = *a.times.at(i)
		}
		a.follow(*a.lists[0].at(i), at)
	}
}

// addAll counts the IDs of both databases by time, equal ones of the first database first.
func (a *audit) addAll(ctx context.Context) error {
	x, y := a.lists[0], a.lists[1]
	sort.Sort(byTime{x, &a.masks})
	sort.Sort(byTime{y, &a.masks})

	i, j := 0, 0
	for i+j < x.Len()+y.Len() && ctx.Err() == nil {
		if j == y.Len() || i < x.Len() && a.compare(*x.at(i), *y.at(j)) <= 0 {
			a.add(*x.at(i), 0)
			i++
		} else {
			a.add(*y.at(j), 1)
			j++
		}
	}
	return ctx.Err()
}
