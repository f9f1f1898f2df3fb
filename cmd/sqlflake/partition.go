package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/snowflake"
)

func partitionCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:     "partition COMMAND",
		Short:   "Maintain the partitions of a table",
		Example: "  sqlflake partition plan --dsn postgres://app@db/shop --unit month events",
	}
	c.AddCommand(planCommand(now), maintainCommand(now), adoptCommand(now))
	return c
}

const partitionHelp = `

The flags describe the table, and each command for it must have the same ones.
Most are options of the package contrib/partition, whose documentation says
what they protect from. Times are by the clock of the database, in the zone of
--tz.

` + serverHelp

func planCommand(now func() time.Time) *cobra.Command {
	return partitionSubcommand(now, &cobra.Command{
		Use:   "plan TABLE",
		Short: "Show what there is to do for the partitions of a table",
		Long: `It shows until when rows have a partition, what partition maintain would do, and
which problems a person has to decide about. It changes nothing. In JSON,
overdue is since when something is to be done: no maintenance has succeeded
since.` + partitionHelp,
		Example: `  sqlflake partition plan --dsn postgres://app@db/shop \
    --unit month --retain 12 events`,
	}, func(ctx context.Context, t *partitioned) (*partition.Plan, error) { return t.Plan(ctx, t.pool) })
}

func maintainCommand(now func() time.Time) *cobra.Command {
	return partitionSubcommand(now, &cobra.Command{
		Use:   "maintain TABLE",
		Short: "Create and drop partitions of a table",
		Long: `It creates the partitions that are missing, drops or detaches those beyond
--retain, and prints what it did. For cron: call it each hour. Any number of
processes may, and an interrupt leaves nothing half done. What needs a person is
an error. It has no callback of WithArchive: with --retain it drops what a
service with one would have archived, so use only one of the two for a table.` + partitionHelp,
		Example: `  sqlflake partition maintain --dsn postgres://app@db/shop \
    --unit month --retain 12 events
  SQLFLAKE_DSN='app:secret@tcp(db)/shop' sqlflake partition maintain \
    --unit day --retain 90 --keep events`,
	}, func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		steps, err := t.Maintain(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
}

func adoptCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "adopt TABLE",
		Short: "Turn an ordinary table into one with partitions",
		Long: `It is for PostgreSQL: the rows stay where they are, as one partition, and others
read and write meanwhile. After an interrupt, call it again. Read the
documentation of Set.Adopt, and look at --dry-run --sql first. On MySQL and
MariaDB it ends with an error that has the statement to execute.` + partitionHelp,
		Example: `  sqlflake partition adopt --dsn postgres://app@db/shop \
    --unit month --dry-run --sql events
  sqlflake partition adopt --dsn postgres://app@db/shop --unit month events`,
	}
	dry := c.Flags().Bool("dry-run", false, "show the steps, and change nothing")

	return partitionSubcommand(now, c, func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		if *dry {
			return t.PlanAdopt(ctx, t.pool)
		}
		steps, err := t.Adopt(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
}

// work is what a command does with a table. Its plan is printed, even with an error if there are steps.
type work func(context.Context, *partitioned) (*partition.Plan, error)

func partitionSubcommand(now func() time.Time, c *cobra.Command, do work) *cobra.Command {
	o := &partitionOptions{format: "table"}
	o.addFlags(c)
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.run(c.Context(), streamsOf(c), now(), args[0], do)
	}
	return c
}

type partitionOptions struct {
	dsn           string
	layout        chosenLayout
	unit          partition.Unit
	key           string
	zone          *time.Location
	ahead, retain int
	idle          int
	grace         time.Duration
	start         string
	keep          bool
	lock          time.Duration
	format        string
}

func (o *partitionOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	dsnFlag(c, &o.dsn)
	layoutFlag(c, &o.layout)
	f.Func("unit", "`span` of a partition: day, week, month, or a duration such as 6h (required)", o.setUnit)
	complete(c, "unit", []string{"day", "week", "month"})
	_ = c.MarkFlagRequired("unit") // it exists
	f.StringVar(&o.key, "key", "id", "`column` with the IDs")
	zoneFlag(c, &o.zone, "time `zone` in which days, weeks and months begin")

	f.IntVar(&o.ahead, "ahead", 3, "`number` of partitions after the current one")
	f.IntVar(&o.retain, "retain", 0, "`number` of partitions to keep before the current one (default all)")
	f.DurationVar(&o.grace, "grace", time.Hour, "how long after its ID was issued a row may be written")
	f.IntVar(&o.idle, "idle", -1,
		"`number` of successive partitions without rows that is normal; -1 for a twelfth of --retain")
	f.StringVar(&o.start, "start", "", "`time` of the oldest ID")
	f.BoolVar(&o.keep, "keep", false, "detach partitions beyond --retain, and do not drop them")
	f.DurationVar(&o.lock, "lock-timeout", 200*time.Millisecond, "the longest wait for a lock")

	formatFlag(c, &o.format, "json", "print JSON, with IDs as strings")
	formatFlag(c, &o.format, "sql", "print the statements of the steps")
	c.MarkFlagsMutuallyExclusive("json", "sql")
}

// setUnit reads a span that follows the calendar, or a duration.
func (o *partitionOptions) setUnit(text string) error {
	calendar := map[string]partition.Unit{
		"day": partition.Day, "week": partition.Week, "month": partition.Month,
	}
	if unit, ok := calendar[text]; ok {
		o.unit = unit
		return nil
	}

	d, ok := parseSpan(text)
	if !ok {
		return errors.New("want day, week, month or a duration such as 6h")
	}
	o.unit = partition.Unit(d)
	return nil
}

func (o *partitionOptions) run(ctx context.Context, s streams, now time.Time, table string, do work) error {
	options, err := o.options(s.errs, now)
	if err != nil {
		return err
	}
	source, err := readDSN(o.dsn)
	if err != nil {
		return err
	}

	t := &partitioned{name: table, zone: o.zone}
	if t.Set, err = partition.New(source.dialect, table, o.unit, options...); err != nil {
		return usageError{err.Error()}
	}
	if t.pool, err = source.connect(ctx); err != nil {
		return err
	}
	defer t.pool.Close()

	plan, err := do(ctx, t)
	hasResult := err == nil || plan != nil && len(plan.Steps) > 0
	if hasResult {
		err = errors.Join(err, t.write(s.out, plan, o.format))
	}
	return forCommand(err)
}

// options returns the options of the package.
func (o *partitionOptions) options(logs io.Writer, now time.Time) ([]partition.Option, error) {
	logger := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := []partition.Option{
		partition.WithLayout(o.layout.Layout), partition.WithKey(o.key), partition.WithZone(o.zone),
		partition.WithAhead(o.ahead), partition.WithGrace(o.grace),
		partition.WithLockTimeout(o.lock), partition.WithLogger(logger),
	}
	add := func(given bool, option partition.Option) {
		if given {
			options = append(options, option)
		}
	}

	add(o.retain != 0, partition.WithRetain(o.retain))
	add(o.idle != -1, partition.WithIdle(o.idle))
	add(o.keep, partition.WithKeep())

	if o.start != "" {
		at, _, err := parseTime(o.start, now, o.zone)
		if err != nil {
			return nil, usage("--start: %v", err)
		}
		options = append(options, partition.WithStart(at))
	}
	return options, nil
}

// forCommand names the command where an error of the package names its method.
func forCommand(err error) error {
	if err == nil || !errors.Is(err, partition.ErrTable) {
		return err
	}
	text := strings.ReplaceAll(err.Error(), "see Adopt", `"sqlflake partition adopt" changes that`)
	return errors.New(text)
}

// partitioned is a table with partitions.
type partitioned struct {
	*partition.Set
	pool *sql.DB
	name string
	zone *time.Location
}

// done returns the plan after steps, with these instead of the steps that are left.
func (t *partitioned) done(ctx context.Context, steps []partition.Step, err error) (*partition.Plan, error) {
	// What was done is printed after an interrupt too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
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

// write prints a plan in the format.
func (t *partitioned) write(w io.Writer, plan *partition.Plan, format string) error {
	text := plan.String()
	if format == "sql" {
		text = statementsOf(plan)
	}
	return printResult(w, format == "json", t.value(plan), func(w io.Writer) { fmt.Fprint(w, text) })
}

func statementsOf(plan *partition.Plan) string {
	var b strings.Builder
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "-- %s %s: %s\n%s;\n", s.Action, s.Partition, s.Why, strings.Join(s.SQL, ";\n"))
	}
	return b.String()
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
	Why       string       `json:"why"`
	SQL       []string     `json:"sql"`
}

func (t *partitioned) value(plan *partition.Plan) planValue {
	v := planValue{
		Table: plan.Table, Now: plan.Now, Covered: knownTime(plan.Covered), Overdue: knownTime(plan.Overdue),
		Steps: []stepValue{}, Problems: []string{}, // [], not null
	}

	for _, s := range plan.Steps {
		v.Steps = append(v.Steps, stepValue{
			Action: s.Action, Partition: s.Partition, From: t.text(s.From), To: t.text(s.To), Lo: s.Lo, Hi: s.Hi,
			Why: s.Why, SQL: s.SQL,
		})
	}
	for _, p := range plan.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v
}

func (t *partitioned) text(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(t.zone).Format(time.RFC3339Nano)
}

func knownTime(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
