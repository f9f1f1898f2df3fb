package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

const partitionHelp = `

The flags describe the table, and each command for it must have the same ones.
Most are options of the package contrib/partition, whose documentation says
what they protect from. Times are by the clock of the database, in the zone of
--tz.

` + serverHelp

// partitioned is a table with partitions, and the form of the output.
type partitioned struct {
	*partition.Set
	pool   *sql.DB
	name   string
	zone   *time.Location
	format string // table, json, csv, sql
}

func planCommand(now func() time.Time) *cobra.Command {
	return partitionFlags(now, &cobra.Command{
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
	return partitionFlags(now, &cobra.Command{
		Use:   "maintain TABLE",
		Short: "Create and drop partitions of a table",
		Long: `It creates the partitions that are missing, drops or renames those beyond
--retain, and prints what it did. For cron: call it each hour. Any number of
processes may, and an interrupt leaves nothing half done. What needs a person is
an error. It has no callback of WithArchive: with --retain it drops what a
service with one would have archived, so use only one of the two for a table.` + partitionHelp,
		Example: `  sqlflake partition maintain --dsn postgres://app@db/shop \
    --unit month --retain 12 events
  SQLFLAKE_DSN='app:secret@tcp(db)/shop' sqlflake partition maintain \
    --unit day --retain 90 --keep old_ events`,
	}, func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		steps, err := t.Maintain(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
}

func adoptCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "adopt TABLE",
		Short: "Turn an ordinary table into one with partitions",
		Long: `On PostgreSQL the rows stay where they are, and others read and write meanwhile.
On MySQL and MariaDB the server copies the table, and writers wait. The rows
that there are become one partition. After an interrupt, call it again. Read the
documentation of Set.Adopt, and look at --dry-run --sql before.` + partitionHelp,
		Example: `  sqlflake partition adopt --dsn postgres://app@db/shop \
    --unit month --dry-run --sql events
  sqlflake partition adopt --dsn postgres://app@db/shop --unit month events`,
	}
	dry := c.Flags().Bool("dry-run", false, "show the steps, and change nothing")
	return partitionFlags(now, c, func(ctx context.Context, t *partitioned) (*partition.Plan, error) {
		if *dry {
			return t.PlanAdopt(ctx, t.pool)
		}
		steps, err := t.Adopt(ctx, t.pool)
		return t.done(ctx, steps, err)
	})
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

// partitionFlags adds the flags, and makes work what the command does. What it returns is printed, also with an error if it has steps.
func partitionFlags(
	now func() time.Time, c *cobra.Command, work func(context.Context, *partitioned) (*partition.Plan, error),
) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	dsn := dsnFlag(c)
	layout := layoutFlag(c, false)
	var unit partition.Unit
	c.Flags().Func("unit", "the `SPAN` of a partition: day, week, month, year, or a duration such as 6h (required)",
		func(text string) (err error) { unit, err = unitOf(text); return err })
	key := c.Flags().String("key", "id", "the `COLUMN` with the IDs")
	zone := zoneFlag(c, "the time `ZONE` in which days, weeks, months and years begin")
	ahead := c.Flags().Int("ahead", 3, "`N` partitions after the current one")
	retain := c.Flags().Int("retain", 0, "keep `N` partitions before the current one (default all)")
	grace := c.Flags().Duration("grace", time.Hour, "how long after its ID was issued a row may be written, a `DURATION`")
	idle := c.Flags().Int("idle", -1, "how many partitions without rows, one after the other, are normal, `N`; -1 for a twelfth of --retain")
	start := c.Flags().String("start", "", "the `TIME` of the oldest ID")
	keep := c.Flags().String("keep", "", "rename partitions beyond --retain, with this `PREFIX`, instead of dropping them")
	names := c.Flags().String("names", "", "begin the names of new partitions with `PREFIX`, not with the table's name")
	fallback := c.Flags().Bool("default", false, "have a partition for rows without another one")
	concurrently := c.Flags().Bool("concurrently", false, "on PostgreSQL, detach concurrently")
	timeout := c.Flags().Duration("lock-timeout", 200*time.Millisecond, "the longest wait for a lock, a `DURATION`")
	patience := c.Flags().Duration("patience", time.Minute, "for how long a step is repeated that gets no lock, a `DURATION`")
	c.Flags().Bool("json", false, "print JSON, with IDs as strings")
	c.Flags().Bool("csv", false, "print the steps as CSV")
	c.Flags().Bool("sql", false, "print the statements of the steps")
	c.MarkFlagsMutuallyExclusive("json", "csv", "sql")
	_ = c.MarkFlagRequired("unit") // it exists
	complete(c, "unit", []string{"day", "week", "month", "year"})
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, t := c.Context(), &partitioned{name: args[0], zone: *zone, format: formatOf(c, "json", "csv", "sql")}
		options := []partition.Option{
			partition.WithLayout(layout.Layout), partition.WithKey(*key), partition.WithZone(t.zone), partition.WithAhead(*ahead),
			partition.WithGrace(*grace), partition.WithLockTimeout(*timeout), partition.WithPatience(*patience),
			partition.WithLogger(slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))),
		}
		for _, o := range []struct {
			given  bool
			option partition.Option
		}{
			{*retain != 0, partition.WithRetain(*retain)},
			{*idle != -1, partition.WithIdle(*idle)},
			{*fallback, partition.WithDefault()},
			{*concurrently, partition.WithDetachConcurrently()},
			{*names != "", partition.WithNames(func(start time.Time) string { return *names + startName(start) })},
			{*keep != "", partition.WithKeep(func(name string) string { return *keep + name })},
		} {
			if o.given {
				options = append(options, o.option)
			}
		}
		if *start != "" {
			at, _, err := parseTime(*start, now(), t.zone)
			if err != nil {
				return err
			}
			options = append(options, partition.WithStart(at))
		}
		source, err := readDSN(*dsn)
		if err != nil {
			return err
		}
		if t.Set, err = partition.New(source.dialect, args[0], unit, options...); err != nil {
			return usageError{err.Error()}
		}
		if t.pool, err = source.connect(ctx); err != nil {
			return err
		}
		defer func() { _ = t.pool.Close() }()
		plan, err := work(ctx, t)
		if plan != nil && (err == nil || len(plan.Steps) > 0) {
			err = errors.Join(err, t.write(c.OutOrStdout(), plan))
		}
		return err
	}
	return c
}

// startName returns the start of a partition as a part of its name.
func startName(start time.Time) string {
	return strings.TrimSuffix(start.Format("2006_01_02_150405"), "_000000")
}

// unitOf reads a span that follows the calendar, or a duration.
func unitOf(text string) (partition.Unit, error) {
	calendar := map[string]partition.Unit{
		"day": partition.Day, "week": partition.Week, "month": partition.Month, "year": partition.Year,
	}
	if unit, ok := calendar[text]; ok {
		return unit, nil
	} else if d, ok := parseSpan(text); ok {
		return partition.Unit(d), nil
	}
	return 0, errors.New("want day, week, month, year or a duration such as 6h")
}
