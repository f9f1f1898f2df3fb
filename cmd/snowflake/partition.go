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

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

const partitionHelp = `
The flags describe the table, and each command for it must have the same ones. Most
are options of the package sqltypes/partition, whose documentation says what they
protect from. Times are by the clock of the database, in the zone of -tz.
` + serverHelp

// partitionUnits are the spans of -unit that follow the calendar.
var partitionUnits = map[string]partition.Unit{
	"day": partition.Day, "week": partition.Week, "month": partition.Month, "year": partition.Year,
}

// partitioned is a table with partitions, and the form of the output.
type partitioned struct {
	*partition.Set
	pool   *sql.DB
	name   string
	zone   *time.Location
	format string // table, json, csv, sql
}

func planCommand() *command {
	c := newCommand("partition plan", "TABLE", "show what there is to do for the partitions of a table")
	c.text = `
It shows until when rows have a partition, what partition maintain would do, and
which problems a person has to decide about. It changes nothing. In JSON, overdue
is since when something is to be done: no maintenance has succeeded since.
` + partitionHelp
	c.examples = `
snowflake partition plan -dsn postgres://app@db/shop -unit month -retain 12 events
snowflake partition plan -dsn postgres://app@db/shop -unit month -retain 12 -json events
`
	c.partitionFlags(func(ctx context.Context, t *partitioned) (*partition.Plan, error) { return t.Plan(ctx, t.pool) })
	return c
}

func maintainCommand() *command {
	c := newCommand("partition maintain", "TABLE", "create and drop partitions of a table")
	c.text = `
It creates the partitions that are missing, drops or renames those beyond -retain,
and prints what it did. For cron: call it each hour. Any number of processes may,
and an interrupt leaves nothing half done. What needs a person is an error. It has no
callback of WithArchive: with -retain it drops what a service with one would have archived,
so use only one of the two for a table.
` + partitionHelp
	c.examples = `
snowflake partition maintain -dsn postgres://app@db/shop -unit month -retain 12 events
SNOWFLAKE_DSN='app:secret@tcp(db)/shop' snowflake partition maintain -unit day -retain 90 -keep old_ events
`
	c.partitionFlags(func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		steps, err := t.Maintain(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
	return c
}

func adoptCommand() *command {
	c := newCommand("partition adopt", "TABLE", "turn an ordinary table into one with partitions")
	c.text = `
On PostgreSQL the rows stay where they are, and others read and write meanwhile. On
MySQL and MariaDB the server copies the table, and writers wait. The rows that there
are become one partition. After an interrupt, call it again. Read the documentation
of Set.Adopt, and look at -dry-run -sql before.
` + partitionHelp
	c.examples = `
snowflake partition adopt -dsn postgres://app@db/shop -unit month -dry-run -sql events
snowflake partition adopt -dsn postgres://app@db/shop -unit month events
`
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
	dsn := c.flags.String("dsn", "", "the `DSN` of the database (default $SNOWFLAKE_DSN)")
	layoutOf := c.layoutFlag()
	unit := c.choice("unit", "", "the `SPAN` of a partition: day, week, month, year, or a duration such as 6h (required)", "day", "week", "month", "year")
	key := c.flags.String("key", "id", "the `COLUMN` with the IDs")
	zone := c.flags.String("tz", "UTC", "the time `ZONE` in which days, weeks, months and years begin")
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
	asJSON := c.flags.Bool("json", false, "print JSON, with IDs as strings")
	asCSV := c.flags.Bool("csv", false, "print the steps as CSV")
	asSQL := c.flags.Bool("sql", false, "print the statements of the steps")
	c.run = func(ctx context.Context, env environment, args []string) error {
		if len(args) != 1 {
			return usage("want one TABLE, got %d arguments", len(args))
		}
		t, err := &partitioned{name: args[0], format: "table"}, error(nil)
		for format, chosen := range map[string]bool{"json": *asJSON, "csv": *asCSV, "sql": *asSQL} {
			if chosen && t.format != "table" {
				return usage("-json, -csv and -sql exclude each other")
			} else if chosen {
				t.format = format
			}
		}
		if t.zone, err = zoneOf(*zone); err != nil {
			return err
		}
		layout, _, err := layoutOf(env)
		if err != nil {
			return err
		}
		span, ok := partitionUnits[*unit]
		if d, isDuration := parseSpan(*unit); isDuration && !ok {
			span, ok = partition.Unit(d), true
		}
		if !ok {
			return usage("-unit is %q, want day, week, month, year or a duration such as 6h", *unit)
		}
		options := []partition.Option{
			partition.WithLayout(layout), partition.WithKey(*key), partition.WithZone(t.zone), partition.WithAhead(*ahead),
			partition.WithGrace(*grace), partition.WithLockTimeout(*timeout), partition.WithPatience(*patience),
			partition.WithLogger(slog.New(slog.NewTextHandler(env.err, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		}
		add := func(wanted bool, option func() partition.Option) {
			if wanted {
				options = append(options, option())
			}
		}
		add(*retain != 0, func() partition.Option { return partition.WithRetain(*retain) })
		add(*idle != -1, func() partition.Option { return partition.WithIdle(*idle) })
		add(*fallback, partition.WithDefault)
		add(*concurrently, partition.WithDetachConcurrently)
		add(*keep != "", func() partition.Option {
			return partition.WithKeep(func(name string) string { return *keep + name })
		})
		if *start != "" {
			at, _, err := parseTime(*start, env.now(), t.zone)
			if err != nil {
				return err
			}
			options = append(options, partition.WithStart(at))
		}
		text, err := dsnOf(env, *dsn)
		if err != nil {
			return err
		}
		driver, source, dialect, err := readDSN(text)
		if err != nil {
			return err
		}
		if t.Set, err = partition.New(dialect, args[0], span, options...); err != nil {
			return usage("%v", err)
		}
		if t.pool, err = sql.Open(driver, source); err != nil {
			return err
		}
		defer func() { _ = t.pool.Close() }()
		if err := refused(t.pool.PingContext(ctx)); err != nil {
			return err
		}
		plan, err := work(ctx, t)
		if plan != nil && (err == nil || len(plan.Steps) > 0) {
			err = errors.Join(err, t.write(env.out, plan))
		}
		return err
	}
}

func (t *partitioned) write(w io.Writer, plan *partition.Plan) (err error) {
	switch t.format {
	case "json":
		return writeJSON(w, t.value(plan))
	case "csv":
		out := csv.NewWriter(w)
		err = out.Write([]string{"action", "partition", "from", "to", "lo", "hi", "rows", "bytes", "why"})
		for _, s := range t.value(plan).Steps {
			err = errors.Join(err, out.Write([]string{
				s.Action, s.Partition, s.From, s.To, s.Lo, s.Hi, strconv.FormatInt(s.Rows, 10), strconv.FormatInt(s.Bytes, 10), s.Why,
			}))
		}
		out.Flush()
		return errors.Join(err, out.Error())
	case "sql":
		for _, s := range plan.Steps {
			_, printErr := fmt.Fprintf(w, "-- %s %s: %s\n%s;\n", s.Action, s.Partition, s.Why, strings.Join(s.SQL, ";\n"))
			err = errors.Join(err, printErr)
		}
		return err
	}
	_, err = fmt.Fprint(w, plan)
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
	Action    string   `json:"action"`
	Partition string   `json:"partition"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Lo        string   `json:"lo"`
	Hi        string   `json:"hi"`
	Rows      int64    `json:"rows"`
	Bytes     int64    `json:"bytes"`
	Why       string   `json:"why"`
	SQL       []string `json:"sql"`
}

func (t *partitioned) value(plan *partition.Plan) planValue {
	at := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	v := planValue{plan.Table, plan.Now, at(plan.Covered), at(plan.Overdue), []stepValue{}, []string{}} // [], not null
	for _, s := range plan.Steps {
		text := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.In(t.zone).Format(time.RFC3339Nano)
		}
		v.Steps = append(v.Steps, stepValue{
			s.Action, s.Partition, text(s.From), text(s.To), s.Lo.String(), s.Hi.String(), s.Rows, s.Bytes, s.Why, s.SQL,
		})
	}
	for _, p := range plan.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v
}
