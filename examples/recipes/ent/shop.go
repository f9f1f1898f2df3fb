package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent/customer"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent/order"
	"github.com/sqlflake/sqlflake/snowflake"
)

type shop struct {
	client *ent.Client
	layout snowflake.Layout
	out    io.Writer
}

// demonstrate runs the steps one after another.
func (s shop) demonstrate(ctx context.Context) error {
	if err := s.client.Schema.Create(ctx); err != nil {
		return err
	}
	ada, err := s.client.Customer.Create().SetCode("ada").SetName("Ada").Save(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "customer %s, made by worker %d\n", ada.Name, s.layout.Decompose(ada.ID).Worker)

	if err := s.sell(ctx, ada, 1250, 80, 399); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.archive, s.print, s.find, s.upsert, s.fail} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sell stores one order for each price, all of them in one INSERT.
func (s shop) sell(ctx context.Context, buyer *ent.Customer, prices ...int64) error {
	orders, err := s.client.Order.MapCreateBulk(prices, func(c *ent.OrderCreate, i int) {
		c.SetCents(prices[i])
		if i > 0 { // the first one is a guest's: its customer_id is NULL
			c.SetCustomer(buyer)
		}
	}).Save(ctx)
	if err != nil {
		return err
	}
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
	return s.client.Order.Create().SetID(id).SetCents(7000).Exec(ctx)
}

// print reads a customer with the orders and writes them as JSON. The keys are strings, so browsers do not round them.
func (s shop) print(ctx context.Context) error {
	ada, err := s.client.Customer.Query().Where(customer.Code("ada")).
		WithOrders(func(q *ent.OrderQuery) { q.Order(order.ByID()) }).Only(ctx)
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
	guests, err := s.client.Order.Query().Where(order.CustomerIDIsNil()).IDs(ctx)
	if err != nil {
		return err
	}
	listed, err := s.client.Order.Query().Where(order.IDIn(guests...)).Count(ctx)
	if err != nil {
		return err
	}
	march := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := s.layout.Range(march, march.AddDate(0, 1, 0))
	if err != nil {
		return err
	}
	old, err := s.client.Order.Query().Where(order.IDGTE(lo), order.IDLT(hi)).Only(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "guests made %d orders, %d of them found\n", len(guests), listed)
	fmt.Fprintf(s.out, "in March 2025: %d cents, at %s\n", old.Cents, s.layout.Time(old.ID).Format(time.DateTime))
	return nil
}

// upsert stores customers, some of whom exist and keep their keys. ID returns the stored key. The bulk form does not,
// so the customers are read afterwards.
func (s shop) upsert(ctx context.Context) error {
	before, err := s.client.Customer.Query().Where(customer.Code("ada")).OnlyID(ctx)
	if err != nil {
		return err
	}
	after, err := s.client.Customer.Create().SetCode("ada").SetName("Ada L.").
		OnConflictColumns(customer.FieldCode).UpdateNewValues().ID(ctx)
	if err != nil {
		return err
	}
	people := []struct{ code, name string }{{"grace", "Grace"}, {"ada", "Ada Lovelace"}}
	err = s.client.Customer.MapCreateBulk(people, func(c *ent.CustomerCreate, i int) {
		c.SetCode(people[i].code).SetName(people[i].name)
	}).OnConflictColumns(customer.FieldCode).UpdateNewValues().Exec(ctx)
	if err != nil {
		return err
	}
	ada, err := s.client.Customer.Get(ctx, before)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s has kept the key: %t\n", ada.Name, before == after)
	return nil
}

// fail shows which errors to expect.
func (s shop) fail(ctx context.Context) error {
	_, err := snowflake.Parse("12x") // from a URL, say
	fmt.Fprintf(s.out, "not an ID: %t\n", errors.Is(err, snowflake.ErrSyntax))

	_, err = s.client.Order.Get(ctx, 1)
	fmt.Fprintf(s.out, "no such order: %t\n", ent.IsNotFound(err))

	err = s.client.Order.Create().SetCustomerID(1).SetCents(1).Exec(ctx)
	fmt.Fprintf(s.out, "no such customer: %t\n", ent.IsConstraintError(err))

	ended, cancel := context.WithCancel(ctx)
	cancel()
	err = s.client.Order.Create().SetCents(1).Exec(ended) // draws no key
	fmt.Fprintf(s.out, "too late: %t\n", errors.Is(err, context.Canceled))
	return nil
}
