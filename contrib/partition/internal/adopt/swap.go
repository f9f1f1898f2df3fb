package adopt

import (
	"context"
	_ "embed" // for the queries
	"fmt"
	"slices"
	"strconv"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/internal/sqltable"
)

// referenceMark is a line at the end of the comment of foreign keys that are still to be validated.
const referenceMark = "sqlflake: to be validated"

// swapQuery returns the statements of the swap in their order. Parameters: the table's OID, its new name, the key, the
// cut, checkName and referenceMark. The search_path must be postgres.SafePath, so that all names have their schema.
// Definitions contain the name of the old table; when they are executed, the new table has it.
//
//go:embed swap.sql
var swapQuery string

// validateQuery returns two statements for each foreign key that refers to the table and that the swap left NOT VALID:
// one validates it, the other removes the mark from its comment. Parameters: the table's OID, referenceMark, and
// whether the swap is still to come: then no comment has the mark yet.
const validateQuery = `SELECT statement FROM (
	SELECT k.*, format('%I.%I', n.nspname, c.relname) AS child, obj_description(k.oid, 'pg_constraint') AS comment
	FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE k.confrelid = $1::bigint::oid AND k.contype = 'f' AND k.conparentid = 0
) AS f, LATERAL (VALUES (1, format('ALTER TABLE %s VALIDATE CONSTRAINT %I', child, conname)),
	(2, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, child,
		nullif(regexp_replace(comment, '\n?' || $2::text || '$', ''), '')))) AS v (place, statement)
WHERE CASE WHEN $3 THEN convalidated ELSE NOT convalidated AND comment LIKE '%' || $2::text END
ORDER BY oid, place`

// addSwap adds the step that puts a partitioned table in the place of the old one.
func (a *Adoption) addSwap(
	ctx context.Context, q engine.Querier, t *Table, o *ordinary, cut int64, attempt int,
) error {
	statements, err := o.swapStatements(ctx, q, t, cut)
	if err != nil {
		return err
	}

	script := slices.Concat([]string{"BEGIN", "SET LOCAL search_path = " + postgres.SafePath},
		postgres.Limits(t.LockTimeout, t.SwapTimeout), statements, []string{"COMMIT"})
	step := o.step("becomes the partition "+o.legacy+" of a new table with its name"+t.legacyDrop(cut), script)
	step.Hi = cut
	step.Run = func(ctx context.Context, q engine.Querier) error {
		locks, err := postgres.RelatedLocks(ctx, q, postgres.Quote(o.Name), attempt)
		if err != nil {
			return err
		}
		if err := postgres.LockAll(ctx, q, t.Table, locks...); err != nil {
			return err
		}
		return o.swap(ctx, q, t, cut)
	}
	a.Steps = append(a.Steps, step)
	return nil
}

// swap puts a partitioned table in the place of the old one, while it is locked. It may have changed before.
func (o *ordinary) swap(ctx context.Context, q engine.Querier, t *Table, cut int64) error {
	now := &Adoption{Table: o.Name}
	if err := now.refusePostgres(ctx, q, t, o); err != nil {
		return err
	}
	if err := Refusal(now.Problems); err != nil {
		return err
	}

	statements, err := o.swapStatements(ctx, q, t, cut)
	if err != nil {
		return err
	}
	before, err := o.indexFiles(ctx, q)
	if err != nil {
		return err
	}

	// Each round trip counts while others wait.
	if err := postgres.ExecScript(ctx, q, statements); err != nil {
		return fmt.Errorf("one of %d statements, of which this is the last: %w", len(statements), err)
	}

	after, err := o.indexFiles(ctx, q)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("%w: ATTACH PARTITION of %v builds an index: before %s, after %s",
			engine.ErrTable, o.Name, before, after)
	}

	return err
}

// swapStatements returns the statements of the swap, for which the table is locked.
func (o *ordinary) swapStatements(ctx context.Context, q engine.Querier, t *Table, cut int64) ([]string, error) {
	return engine.List(ctx, q, swapQuery, o.oid, o.legacy, t.Key, strconv.FormatInt(cut, 10), checkName, referenceMark)
}

// indexFiles returns the indexes of the table with their files. ATTACH must neither change nor add one.
func (o *ordinary) indexFiles(ctx context.Context, q engine.Querier) ([]string, error) {
	return engine.List(ctx, q, `SELECT i.indexrelid || '/' || pg_relation_filenode(i.indexrelid)
		FROM pg_index AS i WHERE i.indrelid = $1::bigint::oid ORDER BY 1`, o.oid)
}

// addReferences adds the steps that validate the foreign keys that the swap creates, or has created, as NOT VALID.
func (a *Adoption) addReferences(ctx context.Context, q engine.Querier, o *ordinary, planned bool) error {
	statements, err := engine.List(ctx, q, validateQuery, o.oid, referenceMark, planned)
	for pair := range slices.Chunk(statements, 2) {
		step := o.step("a foreign key that refers to it: reads all rows, without blocking writers", pair)
		step.Run = func(ctx context.Context, q engine.Querier) error {
			limits := postgres.Limits(postgres.QueueTimeout, 0)
			if err := engine.ExecAll(ctx, q, append(limits, pair...)...); err != nil {
				return err
			}
			return o.validateChildren(ctx, q)
		}

		a.Later = append(a.Later, step)
	}
	return err
}

// validateChildren validates what VALIDATE leaves before PostgreSQL 18: the constraint for the rows of the first
// partition, unless a row refers to another one.
func (o *ordinary) validateChildren(ctx context.Context, q engine.Querier) error {
	const query = `SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname)
		FROM pg_constraint AS p JOIN pg_constraint AS k ON k.conparentid = p.oid
		WHERE p.confrelid = $1::bigint::oid AND p.contype = 'f' AND p.convalidated AND NOT k.convalidated`
	statements, err := engine.List(ctx, q, query, o.oid)
	if err != nil {
		return err
	}

	for _, statement := range statements {
		err := engine.ExecAll(ctx, q, "SAVEPOINT child", statement)
		if sqltable.State(err) == "23503" { // a foreign key violation
			err = engine.ExecAll(ctx, q, "ROLLBACK TO SAVEPOINT child")
		}
		if err != nil {
			return err
		}
	}

	return nil
}
