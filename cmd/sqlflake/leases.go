package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// databaseOptions say where leases are.
type databaseOptions struct{ dsn, tables, namespace string }

// addFlags adds --dsn, --tables and --namespace.
func (o *databaseOptions) addFlags(c *cobra.Command, namespace, about string) {
	dsnFlag(c, &o.dsn)
	tablesFlag(c, &o.tables)
	c.Flags().StringVar(&o.namespace, "namespace", namespace, about)
}

// addOwnFlags is for a command that needs a namespace.
func (o *databaseOptions) addOwnFlags(c *cobra.Command) {
	o.addFlags(c, lease.DefaultNamespace, "`name` of the namespace")
}

func tablesFlag(c *cobra.Command, prefix *string) {
	c.Flags().StringVar(prefix, "tables", "snowflake_", "`prefix` of the names of the lease tables, or schema.prefix")
}

func (o *databaseOptions) open(ctx context.Context) (*database, error) {
	return openDatabase(ctx, o.dsn, o.tables)
}

// database is where leases are.
type database struct {
	*sqllease.Store
	pool *sql.DB
}

func openDatabase(ctx context.Context, dsn, prefix string) (*database, error) {
	s, err := readDSN(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}

	store, err := sqllease.New(pool, s.dialect, sqllease.WithTables(prefix))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{store, pool}, nil
}

func (d *database) close() { _ = d.pool.Close() }

// List calls the List of the store. It adds the usual reason to an error.
func (d *database) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	entries, err := d.Store.List(ctx, namespace)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nIs this the database with the leases? --tables names others", err)
	}
	return entries, err
}

// entry returns the row of a worker.
func (d *database) entry(ctx context.Context, namespace string, worker int64) (leasestore.Entry, error) {
	entries, err := d.List(ctx, namespace)
	if err != nil {
		return leasestore.Entry{}, err
	}

	i := slices.IndexFunc(entries, func(e leasestore.Entry) bool { return e.Worker == worker })
	if i < 0 {
		return leasestore.Entry{}, fmt.Errorf("worker %d of namespace %q was never taken", worker, namespace)
	}
	return entries[i], nil
}

// layoutIn returns the layout of a namespace that is in use. A share of the workers is enough for that.
func (d *database) layoutIn(ctx context.Context, namespace string, chosen *chosenLayout) (snowflake.Layout, error) {
	entries, err := d.List(ctx, "")
	if err != nil {
		return snowflake.Layout{}, err
	}
	layout, err := d.Layout(ctx, namespace)
	if err != nil {
		return snowflake.Layout{}, err
	}

	isUsed := layout != snowflake.Layout{}
	switch {
	case isUsed && chosen.given:
		return chosen.Layout, nil // lease.Open compares it
	case isUsed:
		return layout, nil
	case len(entries) == 0:
		return layout, errors.New("the lease table is empty: no application has leased a worker here")
	}

	var names []string
	for _, e := range entries {
		names = append(names, e.Namespace)
	}
	return layout, fmt.Errorf("no worker of the namespace %q was ever leased here; there are %q",
		namespace, slices.Compact(names))
}

// warnEnding prints a warning if the layout that something issues IDs with ends soon. A lease logs it at the same time.
func warnEnding(w io.Writer, what string, l snowflake.Layout, now time.Time) {
	left, end := l.End().Sub(now), l.End().Format(time.RFC3339)
	switch {
	case left <= 0:
		fmt.Fprintf(w, "warning: the layout of %s has ended at %s\n", what, end)
	case left < lease.EndWarning:
		fmt.Fprintf(w, "warning: the layout of %s ends at %s, in %d days\n", what, end, left/(24*time.Hour))
	}
}

func hostOf(e leasestore.Entry) string { return cmp.Or(printable(e.Holder.Host), "-") }
