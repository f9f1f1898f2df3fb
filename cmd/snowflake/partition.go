package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

const partitionHelp = `
The flags describe the table, and each command for it must have the same ones. Most
are options of the package sqltypes/partition, whose documentation says what they
protect from. Times are by the clock of the database, in the zone of -tz.
` + serverHelp

// partitioned is a table with partitions, and the form of the output.
type partitioned struct {
	*partition.Set
	pool   *sql.DB
	name   string
	zone   *time.Location
	format string // table, json, csv, sql
}

func planCommand() *command {
	c := newCommand("partition plan", "TABLE", "show what there is to do for the partitions of a table", `
It shows until when rows have a partition, what partition maintain would do, and
which problems a person has to decide about. It changes nothing. In JSON, overdue
is since when something is to be done: no maintenance has succeeded since.
`+partitionHelp, `
snowflake partition plan -dsn postgres://app@db/shop -unit month -retain 12 events
snowflake partition plan -dsn postgres://app@db/shop -unit month -retain 12 -json events
`)
	c.partitionFlags(func(ctx context.Context, t *partitioned) (*partition.Plan, error) { return t.Plan(ctx, t.pool) })
	return c
}

func maintainCommand() *command {
	c := newCommand("partition maintain", "TABLE", "create and drop partitions of a table", `
It creates the partitions that are missing, drops or renames those beyond -retain,
and prints what it did. For cron: call it each hour. Any number of processes may,
and an interrupt leaves nothing half done. What needs a person is an error. It has no
callback of WithArchive: with -retain it drops what a service with one would have archived,
so use only one of the two for a table.
`+partitionHelp, `
snowflake partition maintain -dsn postgres://app@db/shop -unit month -retain 12 events
SNOWFLAKE_DSN='app:secret@tcp(db)/shop' snowflake partition maintain -unit day -retain 90 -keep old_ events
`)
	c.partitionFlags(func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		steps, err := t.Maintain(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
	return c
}

func adoptCommand() *command {
	c := newCommand("partition adopt", "TABLE", "turn an ordinary table into one with partitions", `
On PostgreSQL the rows stay where they are, and others read and write meanwhile. On
MySQL and MariaDB the server copies the table, and writers wait. The rows that there
are become one partition. After an interrupt, call it again. Read the documentation
of Set.Adopt, and look at -dry-run -sql before.
`+partitionHelp, `
snowflake partition adopt -dsn postgres://app@db/shop -unit month -dry-run -sql events
snowflake partition adopt -dsn postgres://app@db/shop -unit month events
`)
	dry := c.flags.Bool("dry-run", false, "show the steps, and change nothing")
	c.partitionFlags(func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		if *dry {
			return t.PlanAdopt(ctx, t.pool)
		}
		steps, err := t.Adopt(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
	return c
}

// done returns the plan after steps, with these instead of those that are left.
func (t *partitioned) done(ctx context.Context, steps []partition.Step, err error) (*partition.Plan, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // what was done is said after an interrupt, too
	defer cancel()
	plan, planErr := t.Plan(ctx, t.pool)
	if planErr != nil {
		plan = &partition.Plan{Table: t.name, Now: time.Now().In(t.zone)}
		if err == nil {
			err = planErr
		}
	}
	plan.Steps, plan.Problems, plan.Overdue = steps, nil, time.Time{} // problems are in the error
	return plan, err
}

// partitionFlags adds the flags and makes work the command. What it returns is printed, also with an error if it has steps.
func (c *command) partitionFlags(work func(context.Context, *partitioned) (*partition.Plan, error)) {
	sourceOf := c.dsnFlag()
	layout := c.layoutFlag()
	unit := c.flags.String("unit", "", "the `SPAN` of a partition: day, week, month, year, or a duration such as 6h (required)")
	key := c.flags.String("key", "id", "the `COLUMN` with the IDs")
	zone := c.zoneFlag("the time `ZONE` in which days, weeks, months and years begin")
	ahead := c.flags.Int("ahead", 3, "`N` partitions after the current one")
	retain := c.flags.Int("retain", 0, "keep `N` partitions before the current one (default all)")
	grace := c.flags.Duration("grace", time.Hour, "how long after its ID was issued a row may be written, a `DURATION`")
	idle := c.flags.Int("idle", -1, "how many partitions without rows, one after the other, are normal: `N`; -1 for a\ntwelfth of -retain")
	start := c.flags.String("start", "", "the `TIME` of the oldest ID")
	keep := c.flags.String("keep", "", "rename partitions beyond -retain, with this `PREFIX`, instead of dropping them")
	fallback := c.flags.Bool("default", false, "have a partition for rows without another one")
	concurrently := c.flags.Bool("concurrently", false, "on PostgreSQL, detach concurrently")
	timeout := c.flags.Duration("lock-timeout", 200*time.Millisecond, "the longest wait for a lock, a `DURATION`")
	patience := c.flags.Duration("patience", time.Minute, "for how long a step is repeated that gets no lock, a `DURATION`")
	form := c.formatFlags(format{"json", "print JSON, with IDs as strings"}, format{"csv", "print the steps as CSV"},
		format{"sql", "print the statements of the steps"})
	c.run = func(ctx context.Context, env environment, args []string) error {
		if len(args) != 1 {
			return usage("want one TABLE, got %d arguments", len(args))
		}
		t := &partitioned{name: args[0], zone: *zone, format: *form}
		span, err := unitOf(*unit)
		if err != nil {
			return err
		}
		options := []partition.Option{
			partition.WithLayout(layout.Layout), partition.WithKey(*key), partition.WithZone(t.zone), partition.WithAhead(*ahead),
			partition.WithGrace(*grace), partition.WithLockTimeout(*timeout), partition.WithPatience(*patience),
			partition.WithLogger(slog.New(slog.NewTextHandler(env.err, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		}
		for _, o := range []struct {
			given  bool
			option partition.Option
		}{
			{*retain != 0, partition.WithRetain(*retain)},
			{*idle != -1, partition.WithIdle(*idle)},
			{*fallback, partition.WithDefault()},
			{*concurrently, partition.WithDetachConcurrently()},
			{*keep != "", partition.WithKeep(func(name string) string { return *keep + name })},
		} {
			if o.given {
				options = append(options, o.option)
			}
		}
		if *start != "" {
			at, _, err := parseTime(*start, env.now(), t.zone)
			if err != nil {
				return err
			}
			options = append(options, partition.WithStart(at))
		}
		source, err := sourceOf(env)
		if err != nil {
			return err
		}
		if t.Set, err = partition.New(source.dialect, args[0], span, options...); err != nil {
			return usage("%v", err)
		}
		if t.pool, err = source.connect(ctx); err != nil {
			return err
		}
		defer func() { _ = t.pool.Close() }()
		plan, err := work(ctx, t)
		if plan != nil && (err == nil || len(plan.Steps) > 0) {
			err = errors.Join(err, t.write(env.out, plan))
		}
		return err
	}
}

// unitOf reads a span that follows the calendar, or a duration.
func unitOf(text string) (partition.Unit, error) {
	calendar := map[string]partition.Unit{
		"day": partition.Day, "week": partition.Week, "month": partition.Month, "year": partition.Year,
	}
	if unit, ok := calendar[text]; ok {
		return unit, nil
	}
	if d, ok := parseSpan(text); ok {
		return partition.Unit(d), nil
	}
	return 0, usage("-unit is %q, want day, week, month, year or a duration such as 6h", text)
}

func (t *partitioned) write(w io.Writer, plan *partition.Plan) error {
	text := plan.String()
	switch t.format {
	case "json":
		return writeJSON(w, t.value(plan))
	case "csv":
		lines := [][]string{{"action", "partition", "from", "to", "lo", "hi", "rows", "bytes", "why"}}
		for _, s := range t.value(plan).Steps {
			lines = append(lines, []string{
				s.Action, s.Partition, s.From, s.To, s.Lo.String(), s.Hi.String(), strconv.FormatInt(s.Rows, 10),
				strconv.FormatInt(s.Bytes, 10), s.Why,
			})
		}
		return csv.NewWriter(w).WriteAll(lines)
	case "sql":
		var b strings.Builder
		for _, s := range plan.Steps {
			fmt.Fprintf(&b, "-- %s %s: %s\n%s;\n", s.Action, s.Partition, s.Why, strings.Join(s.SQL, ";\n"))
		}
		text = b.String()
	}
	_, err := io.WriteString(w, text)
	return err
}

// planValue is a plan in JSON.
type planValue struct {
	Table    string      `json:"table"`
	Now      time.Time   `json:"now"`
	Covered  *time.Time  `json:"covered"`
	Overdue  *time.Time  `json:"overdue"`
	Steps    []stepValue `json:"steps"`
	Problems []string    `json:"problems"`
}

type stepValue struct {
	Action    string       `json:"action"`
	Partition string       `json:"partition"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	Lo        snowflake.ID `json:"lo"`
	Hi        snowflake.ID `json:"hi"`
	Rows      int64        `json:"rows"`
	Bytes     int64        `json:"bytes"`
	Why       string       `json:"why"`
	SQL       []string     `json:"sql"`
}

func (t *partitioned) value(plan *partition.Plan) planValue {
	known := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	text := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.In(t.zone).Format(time.RFC3339Nano)
	}
	v := planValue{plan.Table, plan.Now, known(plan.Covered), known(plan.Overdue), []stepValue{}, []string{}} // [], not null
	for _, s := range plan.Steps {
		v.Steps = append(v.Steps, stepValue{s.Action, s.Partition, text(s.From), text(s.To), s.Lo, s.Hi, s.Rows, s.Bytes, s.Why, s.SQL})
	}
	for _, p := range plan.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v
}
