package adopt

import (
	"context"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
)

// Read reads what is left to do: the constraint, its validation, the swap, and foreign keys. It notes in c what it
// finds and what its steps do. attempt counts from 0: see postgres.RelatedLocks.
func Read(ctx context.Context, q engine.Querier, t *Table, c *Claim, attempt int) (*Adoption, error) {
	o, err := readOrdinary(ctx, q, t)
	if err != nil {
		return nil, err
	}

	a := &Adoption{Table: o.Name, Now: o.now, Ordinary: o.isTable()}
	if !a.Ordinary { // adopted before, or unsuitable
		return a, a.addReferences(ctx, q, o, false)
	}

	if err := t.CheckKey(o.Name, o.keyType, o.keyType == "bigint"); err != nil {
		return nil, err
	}
	if o.checkDef != "" {
		c.table = postgres.Quote(o.Name)
	}
	if err := a.refusePostgres(ctx, q, t, o); err != nil {
		return nil, err
	}

	cut, err := a.addConstraint(ctx, q, t, o, c)
	if err != nil {
		return nil, err
	}
	if err := a.addSwap(ctx, q, t, o, cut, attempt); err != nil {
		return nil, err
	}

	legacy := engine.Part{
		Name: engine.Name{Schema: o.Schema, Table: o.legacy}, Lo: engine.NoLow, Hi: cut,
	}
	a.After = &engine.State{Table: o.Name, Now: o.now, Parts: []engine.Part{legacy}}
	return a, a.addReferences(ctx, q, o, true)
}
