package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"github.com/uptrace/bun"

	"github.com/sqlflake/sqlflake/snowflake"
)

type shop struct {
	db     *bun.DB
	layout snowflake.Layout
	out    io.Writer
}

// demonstrate runs the steps one after another.
func (s shop) demonstrate(ctx context.Context) error {
	if err := createTables(ctx, s.db); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.sell, s.archive, s.print, s.find, s.upsert, s.fail} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func createTables(ctx context.Context, db *bun.DB) error {
	for _, model := range []any{(*Customer)(nil), (*Order)(nil)} {
		if _, err := db.NewCreateTable().Model(model).WithForeignKeys().Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sell stores a customer and three orders in one transaction, with one INSERT for each table.
func (s shop) sell(ctx context.Context) error {
	ada := Customer{Code: "ada", Name: "Ada"}
	var orders []Order
	err := s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&ada).Exec(ctx); err != nil {
			return err
		}
		orders = []Order{{Cents: 1250}, {CustomerID: &ada.ID, Cents: 80}, {CustomerID: &ada.ID, Cents: 399}}
		_, err := tx.NewInsert().Model(&orders).Exec(ctx)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "customer %s, made by worker %d\n", ada.Name, s.layout.Decompose(ada.ID).Worker)
	fmt.Fprintf(s.out, "%d orders, in the order of their keys: %t\n", len(orders),
		orders[0].ID < orders[1].ID && orders[1].ID < orders[2].ID)
	return nil
}

// archive stores an order that is older than the program: a key that is set stays.
func (s shop) archive(ctx context.Context) error {
	id, err := s.layout.MinAt(time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		return err
	}
	_, err = s.db.NewInsert().Model(&Order{Key: Key{ID: id}, Cents: 7000}).Exec(ctx)
	return err
}

// print reads a customer with the orders and writes them as JSON. The keys are strings, so browsers do not round them.
func (s shop) print(ctx context.Context) error {
	var ada Customer
	err := s.db.NewSelect().Model(&ada).Where("code = ?", "ada").
		Relation("Orders", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order("id") }).Scan(ctx)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(ada, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s\n", text)
	return nil
}

// find looks rows up by NULL, by a list of keys, and by time, which is a range of keys.
func (s shop) find(ctx context.Context) error {
	var guests []snowflake.ID
	err := s.db.NewSelect().Model((*Order)(nil)).Column("id").Where("customer_id IS NULL").Scan(ctx, &guests)
	if err != nil {
		return err
	}
	listed, err := s.db.NewSelect().Model((*Order)(nil)).Where("id IN ?", bun.Tuple(guests)).Count(ctx)
	if err != nil {
		return err
	}
	march := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := s.layout.Range(march, march.AddDate(0, 1, 0))
	if err != nil {
		return err
	}
	var old Order
	if err := s.db.NewSelect().Model(&old).Where("id >= ? AND id < ?", lo, hi).Scan(ctx); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "guests made %d orders, %d of them found\n", len(guests), listed)
	fmt.Fprintf(s.out, "in March 2025: %d cents, at %s\n", old.Cents, s.layout.Time(old.ID).Format(time.DateTime))
	return nil
}

// upsert stores customers, one of whom exists and keeps its key. Returning reads that key into the struct; otherwise
// the struct has the key that was drawn for it. Do not use Returning with DO NOTHING: fewer rows are returned then, and
// bun writes them into the first structs of the slice, whichever they belong to.
func (s shop) upsert(ctx context.Context) error {
	people := []Customer{{Code: "grace", Name: "Grace"}, {Code: "ada", Name: "Ada Lovelace"}}
	_, err := s.db.NewInsert().Model(&people).
		On("CONFLICT (code) DO UPDATE").Set("name = EXCLUDED.name").Returning("*").Exec(ctx)
	if err != nil {
		return err
	}
	for _, who := range people {
		n, err := s.db.NewSelect().Model((*Order)(nil)).Where("customer_id = ?", who.ID).Count(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s has %d orders\n", who.Name, n)
	}
	return nil
}

// fail shows which errors to expect.
func (s shop) fail(ctx context.Context) error {
	_, err := snowflake.Parse("12x") // from a URL, say
	fmt.Fprintf(s.out, "not an ID: %t\n", errors.Is(err, snowflake.ErrSyntax))

	err = s.db.NewSelect().Model(&Order{Key: Key{ID: 1}}).WherePK().Scan(ctx)
	fmt.Fprintf(s.out, "no such order: %t\n", errors.Is(err, sql.ErrNoRows))

	nobody := snowflake.ID(1)
	_, err = s.db.NewInsert().Model(&Order{CustomerID: &nobody}).Exec(ctx)
	fmt.Fprintf(s.out, "no such customer: %t\n", isForeignKey(err))

	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.db.NewInsert().Model(&Order{Cents: 1}).Exec(ended) // draws no key
	fmt.Fprintf(s.out, "too late: %t\n", errors.Is(err, context.Canceled))
	return nil
}

// isForeignKey reports whether the referenced row does not exist. Bun returns the driver's errors.
func isForeignKey(err error) bool {
	var lite sqlite3.Error
	var postgres *pgconn.PgError
	return errors.As(err, &lite) && lite.ExtendedCode == sqlite3.ErrConstraintForeignKey ||
		errors.As(err, &postgres) && postgres.Code == "23503"
}
