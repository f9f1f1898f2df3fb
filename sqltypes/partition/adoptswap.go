package partition

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

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
	script = append(append(script, statements...), "COMMIT")
	step := alterStep(t, "becomes the partition "+t.legacy+" of a new table with its name"+s.legacyDrop(cut), script)
	step.Hi = snowflake.ID(cut)
	step.To = s.at(cut)
	a.add(step, func(ctx context.Context, q querier) error {
		if err := s.lockAll(ctx, q, locks...); err != nil {
			return err
		}
		// The table may have changed before it was locked.
		if err := s.recheck(ctx, q, t); err != nil {
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
		if err == nil && before != after {
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

// recheck returns an error if the table has changed in a way that makes it unfit for the swap.
func (s *Set) recheck(ctx context.Context, q querier, t *adoptee) error {
	plan := &Plan{}
	if err := s.refusalsPostgres(ctx, q, t, plan); err != nil {
		return err
	}
	return (&adoption{plan: plan}).refusal()
}

// indexFiles returns the indexes of the table with their files. None of them changes by ATTACH, and none is added.
func indexFiles(ctx context.Context, q querier, t *adoptee) (text string, err error) {
	err = q.QueryRowContext(ctx, `SELECT coalesce(string_agg(i.indexrelid || '/' || pg_relation_filenode(i.indexrelid), ' ' ORDER BY 1), '')
		FROM pg_index AS i WHERE i.indrelid = $1::bigint::oid`, t.oid).Scan(&text)
	return text, err
}

// adoptedPostgres returns what is left to do after the swap.
func (s *Set) adoptedPostgres(ctx context.Context, q querier, t *adoptee) (*adoption, error) {
	a, err := s.adopted(ctx, q)
	if err != nil {
		return nil, err
	}
	return a, a.addReferences(ctx, q, t, false)
}

// addReferences adds the steps that validate the foreign keys that the swap creates, or has created, as NOT VALID.
func (a *adoption) addReferences(ctx context.Context, q querier, t *adoptee, planned bool) error {
	statements, err := list(ctx, q, validateQuery, t.oid, adoptMark, planned)
	for pair := range slices.Chunk(statements, 2) {
		step := alterStep(t, "a foreign key that refers to it: reads all rows, without blocking writers", pair)
		a.add(step, func(ctx context.Context, q querier) error {
			if err := execAll(ctx, q, append(limits(queueTimeout, 0), pair...)); err != nil {
				return err
			}
			return validateChildren(ctx, q, t)
		})
	}
	return err
}

// validateChildren validates what VALIDATE leaves before PostgreSQL 18: the constraint for the rows of the first partition,
// unless a row refers to another one.
func validateChildren(ctx context.Context, q querier, t *adoptee) error {
	statements, err := list(ctx, q, `SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname)
		FROM pg_constraint AS p JOIN pg_constraint AS k ON k.conparentid = p.oid
		WHERE p.confrelid = $1::bigint::oid AND p.contype = 'f' AND p.convalidated AND NOT k.convalidated`, t.oid)
	for _, statement := range statements {
		if err := execAll(ctx, q, []string{"SAVEPOINT child", statement}); err != nil && sqlState(err) != "23503" {
			return err
		} else if err != nil {
			if err := execAll(ctx, q, []string{"ROLLBACK TO SAVEPOINT child"}); err != nil {
				return err
			}
		}
	}
	return err
}
