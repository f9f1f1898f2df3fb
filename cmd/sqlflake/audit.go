package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/audit"
	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

type auditOptions struct {
	layout    chosenLayout
	dsn, with string
	dsnGiven  bool // not by the variable
	auditTable
	order      string
	slack      time.Duration
	slackGiven bool
	since      string
	json       bool
}

const auditHelp = `It reads a column of a table, or without --table IDs from the standard input,
and shows times, workers and rates, and findings: equal IDs, two generators on
one worker, clocks that were set back, IDs of the future, numbers of a counter,
IDs that a spreadsheet or JavaScript has rounded, or that the layout can't have.
It shows what IDs show, and proves nothing: what a primary key refused is in no
table, and a float64 of an ID with the worker in the lowest bits shows as
another worker.

Steps back, and most cases of two generators on one worker, show only in the
order of issue: say --order issue if the standard input has it, or --by with a
column such as created_at. Many rows are inserted some time after their ID was
made, so descents of less than --slack do not count; --slack 0 is for the log of
a single generator.

A column of --by without a time zone may have local times. In the order of such,
descents of about an hour or less count only if --slack is given: clocks are set
back in autumn.

It reads the table with one query; a replica will do. If interrupted, it ends
the query on PostgreSQL; MySQL and MariaDB may go on sorting. Without --layout
it guesses, and keeps 20 bytes a row in memory, as with --with, SQLite, the
standard input, a column of text, --by, and a layout with the sequence above the
time.

--with compares with the same column of a second database, for a merge. --since
leaves out older IDs, such as rows that both have by replication.

Exit codes: 0 nothing was found, 1 a failure, 2 wrong arguments, 3 findings,
130 interrupted.

` + dsnHelp

func auditCommand(now func() time.Time) *cobra.Command {
	o := &auditOptions{order: "any"}
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show which generators issued the IDs of a table",
		Long:  auditHelp,
		Example: `  sqlflake audit --dsn postgres://app@db/shop --table orders
  sqlflake audit --layout twitter --table orders --by created_at --json
  sqlflake audit --table orders --with postgres://app@db2/shop --since 24h
  psql -At -c "SELECT id FROM orders ORDER BY created_at" |
    sqlflake audit --order issue`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.dsnGiven, o.slackGiven = c.Flags().Changed("dsn"), c.Flags().Changed("slack")
			if o.table == "" || o.by != "" {
				ignoreVariable(c.Flag("with"))
			}
			return o.run(c.Context(), streamsOf(c), now)
		},
	}

	o.addFlags(c)
	return c
}

func (o *auditOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	addLayoutFlag(c, &o.layout, layoutHelp+"(default $SQLFLAKE_LAYOUT, or else a guess)", snowflake.Presets())
	dsnFlag(c, &o.dsn)
	f.StringVar(&o.table, "table", "", "`name` of the table, table or schema.table; one with a dot in double quotes")
	f.StringVar(&o.column, "column", "id", "`name` of the column with the IDs")
	f.StringVar(&o.by, "by", "", "`name` of a column with the order of issue")
	f.StringVar(&o.with, "with", "",
		"`DSN` of a second database, with the same table (default $SQLFLAKE_WITH, unless --by is given)")
	choiceFlag(c, &o.order, "order", "`order` of the standard input: issue or any (default any)", "issue", "any")
	f.DurationVar(&o.slack, "slack", snowflake.MaxLead, "the longest descent that is normal")
	f.StringVar(&o.since, "since", "", "leave out IDs before this `time`, or older than a duration such as 24h")
	f.BoolVar(&o.json, "json", false, "print JSON, with IDs as strings")

	c.MarkFlagsMutuallyExclusive("with", "by")
	c.MarkFlagsMutuallyExclusive("table", "order")
}

func (o *auditOptions) run(ctx context.Context, s streams, now func() time.Time) error {
	options, err := o.check(now)
	if err != nil {
		return err
	}

	defer debug.SetGCPercent(debug.SetGCPercent(25)) // most of what is not kept is garbage
	a := audit.New(options)
	if err := o.read(ctx, s, a); err != nil {
		return err
	}
	report, err := a.Report(ctx)
	if err != nil {
		return err
	}

	err = printResult(s.out, o.json, report, func(w io.Writer) { writeReport(w, report) })
	if err == nil && len(report.Findings) > 0 {
		err = errFindings
	}
	return err
}

// check returns the options of the audit.
func (o *auditOptions) check(now func() time.Time) (audit.Options, error) {
	options := audit.Options{
		Now: now, By: o.by, Issued: o.by != "" || o.order == "issue", Two: o.with != "",
		Slack: o.slack, SlackGiven: o.slackGiven,
	}
	if o.layout.given {
		options.Layout = o.layout.Layout
	}

	needsTable := o.dsnGiven || o.with != "" || o.by != ""
	switch {
	case o.table == "" && needsTable:
		return options, usage("which table? Give --table")
	case o.by != "" && strings.EqualFold(o.by, o.column):
		return options, usage("--by %s: the order of the IDs is not that of their issue", o.by)
	case o.slack < 0:
		return options, usage("--slack %v, want 0 or more", o.slack)
	case o.since == "":
		return options, nil
	}

	var err error
	at := now()
	options.Since, _, err = spanOf([]string{o.since}, at, time.UTC)
	if options.Since.After(at) {
		err = usage("--since %s is in the future", o.since)
	}
	return options, err
}

// read reads the standard input, or the table in one database or two.
func (o *auditOptions) read(ctx context.Context, s streams, a *audit.Audit) error {
	p := &rowReader{}
	if isTerminal(s.errs) {
		p.progress = s.errs
	}

	if o.table == "" {
		return a.Read(audit.Source{Rows: func(take func(audit.Row)) error { return p.words(ctx, s, take) }})
	}
	if err := o.auditTable.read(ctx, o.dsn, p, a); err != nil || o.with == "" {
		return err
	}
	return o.auditTable.read(ctx, o.with, p, a)
}

// writeReport prints a report for people.
func writeReport(w io.Writer, r *audit.Report) {
	writeSummary(w, r)
	if len(r.Workers) > 0 {
		writeGenerators(w, r.Workers)
	}

	noun := "findings"
	if len(r.Findings) == 1 {
		noun = "finding"
	}
	fmt.Fprintf(w, "\n%d %s\n", len(r.Findings), noun)
	for _, f := range r.Findings {
		writeFinding(w, f)
	}

	fmt.Fprintln(w)
	for _, note := range r.Notes {
		fmt.Fprint(w, wrap("note: ", note))
	}
}

func writeSummary(w io.Writer, r *audit.Report) {
	line := func(name, format string, args ...any) {
		title := fmt.Sprintf("%-9s", name)
		for text := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			fmt.Fprint(w, wrap(title, text))
			title = "         "
		}
	}

	each := ""
	if r.Two {
		each = fmt.Sprintf(": %d of the first database, %d of the second", r.IDs-r.IDsWith, r.IDsWith)
	}
	line("rows", "%d, of which %d IDs were looked at%s", r.Rows, r.IDs, each)
	line("layout", "%s", &r.Layout)

	if r.First != nil {
		share := "under 0.1%"
		if r.Ceiling >= 0.001 {
			share = fmt.Sprintf("%.1f%%", 100*r.Ceiling)
		}
		line("times", "%s to %s", r.First.Format(time.RFC3339Nano), r.Last.Format(time.RFC3339Nano))
		line("greatest", "%v", r.Greatest)
		line("rate", "at most %d a second (%s of the ceiling), by worker %s", r.Peak.PerSecond, share, r.Peak.Worker)
		line("2^53", "is reached by %d of the IDs, which JavaScript rounds as numbers", r.Above53)
	}
	if r.End != "" {
		line("ends", "%s (%.1f years from now)", r.End, r.YearsLeft)
	}
}

// writeGenerators prints the first twenty workers.
func writeGenerators(w io.Writer, workers []audit.Worker) {
	const most = 20
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nWORKER\tIDS\tA SECOND\tFIRST\tLAST")
	for _, one := range workers[:min(len(workers), most)] {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", one.Worker, one.IDs, one.PerSecond,
			timetext.Second(one.First.Time), timetext.Second(one.Last.Time))
	}
	_ = table.Flush()

	if len(workers) > most {
		fmt.Fprintf(w, "and %d more workers, see --json\n", len(workers)-most)
	}
}

func writeFinding(w io.Writer, f audit.Finding) {
	fmt.Fprintf(w, "\n%s: %d", f.Kind, f.Count)
	if f.Example != 0 {
		fmt.Fprintf(w, ", such as %v", f.Example)
	}
	if len(f.Workers) > 0 {
		fmt.Fprintf(w, ", worker %s", strings.Join(f.Workers, ", "))
	}
	fmt.Fprintf(w, "\n%s%s", wrap("  shows  ", f.Shows), wrap("  do     ", f.Do))
}

// rowReader turns values into rows.
type rowReader struct {
	count    int
	progress io.Writer // nil for none
}

// row reads a value of a database, or a word of an input.
func (p *rowReader) row(value any, read func(text, form string) (snowflake.ID, error)) audit.Row {
	p.count++
	if p.progress != nil && p.count%1_000_000 == 0 {
		fmt.Fprintf(p.progress, "%d million rows\r", p.count/1_000_000)
	}

	switch v := value.(type) {
	case nil:
		return audit.Row{Null: true}
	case int64:
		return audit.Row{ID: snowflake.ID(v)}
	case []byte:
		value = string(v)
	}

	text := fmt.Sprint(value)
	id, err := read(text, "auto")
	if err != nil {
		return audit.Row{Fault: notID{text, err}}
	}
	return audit.Row{ID: id}
}

// notID says why a text is not an ID. Few of many are printed.
type notID struct {
	text string
	err  error
}

func (e notID) Error() string { return reasonOf(e.text, e.err) }

// words passes on the words of the standard input.
func (p *rowReader) words(ctx context.Context, s streams, take func(audit.Row)) error {
	noWait := func() error { return nil }
	err := s.eachWord(ctx, noWait, func(word string, _ int) error {
		take(p.row(word, readID))
		return nil
	})
	if errors.Is(err, errNoInput) {
		err = fmt.Errorf("%w; for a table give --table", err)
	}
	return err
}

// auditTable is a table with IDs.
type auditTable struct{ table, column, by string }

// integers are the column types that an index sorts by number. In SQLite such a column can hold texts as well.
var integers = []string{"INT2", "INT4", "INT8", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"}

// read reads the table in a database.
func (t *auditTable) read(ctx context.Context, dsn string, p *rowReader, a *audit.Audit) error {
	s, err := readDSN(dsn)
	if err != nil {
		return err
	}
	if s.dialect == sqldb.Postgres {
		s.dsn = registerCancelable(s.dsn)
	}
	pool, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()

	rows, err := pool.QueryContext(ctx, t.query(s.dialect))
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}

	var source audit.Source
	if t.by == "" {
		kind := strings.TrimPrefix(types[0].DatabaseTypeName(), "UNSIGNED ")
		source.Sorted = s.dialect != sqldb.SQLite && slices.Contains(integers, kind)
	} else {
		source.Local = isLocal(s.dialect, types[1].DatabaseTypeName())
	}
	source.Rows = p.rows(rows, t.by != "")
	return a.Read(source)
}

// tableParts are the names in schema.table. One with a dot stands in double quotes.
var tableParts = regexp.MustCompile(`"[^"]+"|[^.]+`)

// query reads the column in ascending order, or with the column of --by and in its order.
func (t *auditTable) query(dialect sqldb.Dialect) string {
	mark := "`" // SQLite takes "name" for a text if there is no such column
	if dialect == sqldb.Postgres {
		mark = `"`
	}
	quote := func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }

	table := tableParts.ReplaceAllStringFunc(t.table, func(name string) string {
		return quote(strings.Trim(name, `"`))
	})
	columns, order := quote(t.column), quote(t.column)
	if t.by != "" {
		columns, order = columns+", "+quote(t.by), quote(t.by)+", "+order
	}
	return "SELECT " + columns + " FROM " + table + " ORDER BY " + order
}

// rows passes on the rows of a query, which has a second column with --by.
func (p *rowReader) rows(rows *sql.Rows, hasBy bool) func(take func(audit.Row)) error {
	return func(take func(audit.Row)) error {
		var value, by any
		into := []any{&value}
		if hasBy {
			into = append(into, &by)
		}

		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			row := p.row(value, parseID)
			row.Unordered = hasBy && by == nil
			take(row)
		}
		return rows.Err()
	}
}

// isLocal reports whether values of a type may sort by local time. MySQL prints a TIMESTAMP in local time but sorts it
// by UTC, so it does not count.
func isLocal(dialect sqldb.Dialect, kind string) bool {
	sortsByUTC := kind == "TIMESTAMPTZ" || dialect == sqldb.MySQL && kind == "TIMESTAMP"
	isTime := strings.Contains(kind, "TIME") || dialect == sqldb.SQLite && kind == "TEXT"
	return isTime && !sortsByUTC
}

// registerCancelable registers a configuration with pgx under which the end of a context also cancels the query on the
// server, and returns its DSN. By default pgx cancels in a goroutine, for which an interrupted program does not wait.
func registerCancelable(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return dsn // connect returns the error
	}

	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 3 * time.Second}
	}
	return stdlib.RegisterConnConfig(config)
}

// unknown matches the errors in which PostgreSQL, MySQL and SQLite report an unknown table or column.
var unknown = regexp.MustCompile(`SQLSTATE 42(P01|703)|Error (1054|1146)|no such (table|column)`)

// explain adds the probable reason to an error.
func explain(err error) error {
	if unknown.MatchString(err.Error()) {
		return fmt.Errorf("%w\nIs this the database with the table? --table and --column are its names, "+
			"in upper and lower case", err)
	}
	return err
}
