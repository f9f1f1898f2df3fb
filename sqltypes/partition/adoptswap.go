package partition

import (
	"context"
	_ "embed" // for the queries
	"fmt"
	"slices"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

// swapQuery returns the statements of the swap in their order. Parameters: the table's OID, its new name, the key, the
// cut, adoptCheck and adoptMark. The search_path must be pg_catalog, so that all names have their schema. Definitions
// contain the name of the old table, which is that of the new one when they are executed.
//
//go:embed adopt_swap.sql
var swapQuery string

// refusalsQuery returns what the swap can't carry over. Parameters: the table's OID, its new name, the key, adoptCheck.
//
//go:embed adopt_refusals.sql
var refusalsQuery string

// validateQuery returns two statements for each foreign key that refers to the table and that the swap left NOT VALID:
// one validates it, the other removes the mark from its comment. Parameters: the table's OID, adoptMark, and whether
// the swap is still to come, when there is no mark.
//
//go:embed adopt_validate.sql
var validateQuery string

// addSwap adds the step that puts a partitioned table in the place of the old one.
func (s *Set) addSwap(ctx context.Context, q querier, t *adoptee, cut int64, attempt int, a *adoption) error {
	statements, err := s.swapStatements(ctx, q, t, cut)
	if err != nil {
		return err
	}
	locks, err := relatedLocks(ctx, q, quoteTable(t.name), attempt)
	if err != nil {
		return err
	}
	script := append([]string{"BEGIN", "SET LOCAL search_path = pg_catalog"}, limits(s.lockTimeout, s.swap)...)
	for _, l := range locks {
		script = append(script, l.statement())
	}
	why := "becomes the partition " + t.legacy + " of a new table with its name" + s.legacyDrop(cut)
	step := alterStep(t, why, append(append(script, statements...), "COMMIT"))
	step.Hi, step.To = snowflake.ID(cut), s.at(cut)
	a.add(step, func(ctx context.Context, q querier) error {
		if err := s.lockAll(ctx, q, locks...); err != nil {
			return err
		}
		// The table may have changed before it was locked.
		now := &adoption{plan: &Plan{}}
		if err := s.refusePostgres(ctx, q, t, now); err != nil {
			return err
		}
		if err := now.refusal(); err != nil {
			return err
		}
		statements, err := s.swapStatements(ctx, q, t, cut)
		if err != nil {
			return err
		}
		before, err := indexFiles(ctx, q, t)
		if err != nil {
			return err
		}
		// Each round trip counts while others wait.
		if err := execScript(ctx, q, statements); err != nil {
			return fmt.Errorf("one of %d statements, of which this is the last: %w", len(statements), err)
		}
		after, err := indexFiles(ctx, q, t)
		if err == nil && !slices.Equal(before, after) {
			err = fmt.Errorf("%w: ATTACH PARTITION of %v builds an index: before %s, after %s", ErrTable, t.name, before, after)
		}
		return err
	})
	return nil
}

// swapStatements returns the statements of the swap, for which the table is locked.
func (s *Set) swapStatements(ctx context.Context, q querier, t *adoptee, cut int64) ([]string, error) {
	return list(ctx, q, swapQuery, t.oid, t.legacy, s.key, strconv.FormatInt(cut, 10), adoptCheck, adoptMark)
}

// refusePostgres adds what the swap can't carry over to the problems.
func (s *Set) refusePostgres(ctx context.Context, q querier, t *adoptee, a *adoption) error {
	err := a.refuse(ctx, q, refusalsQuery, t.oid, t.legacy, s.key, adoptCheck)
	if sqlState(err) == "42704" { // a publication was dropped meanwhile
		return errChanging
	}
	return err
}

// indexFiles returns the indexes of the table with their files. ATTACH must neither change nor add one.
func indexFiles(ctx context.Context, q querier, t *adoptee) ([]string, error) {
	return list(ctx, q, `SELECT i.indexrelid || '/' || pg_relation_filenode(i.indexrelid)
		FROM pg_index AS i WHERE i.indrelid = $1::bigint::oid ORDER BY 1`, t.oid)
}

// addReferences adds the steps that validate the foreign keys that the swap creates, or has created, as NOT VALID.
func (a *adoption) addReferences(ctx context.Context, q querier, t *adoptee, planned bool) error {
	statements, err := list(ctx, q, validateQuery, t.oid, adoptMark, planned)
	for pair := range slices.Chunk(statements, 2) {
		step := alterStep(t, "a foreign key that refers to it: reads all rows, without blocking writers", pair)
		a.add(step, func(ctx context.Context, q querier) error {
			if err := execAll(ctx, q, append(limits(queueTimeout, 0), pair...)...); err != nil {
				return err
			}
			return validateChildren(ctx, q, t)
		})
	}
	return err
}

// validateChildren validates what VALIDATE leaves before PostgreSQL 18: the constraint for the rows of the first
// partition, unless a row refers to another one.
func validateChildren(ctx context.Context, q querier, t *adoptee) error {
	statements, err := list(ctx, q, `SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname)
		FROM pg_constraint AS p JOIN pg_constraint AS k ON k.conparentid = p.oid
		WHERE p.confrelid = $1::bigint::oid AND p.contype = 'f' AND p.convalidated AND NOT k.convalidated`, t.oid)
	for _, statement := range statements {
		err := execAll(ctx, q, "SAVEPOINT child", statement)
		if sqlState(err) == "23503" { // a foreign key violation
			err = execAll(ctx, q, "ROLLBACK TO SAVEPOINT child")
		}
		if err != nil {
			return err
		}
	}
	return err
}
