package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// MoveDefault moves rows out of the default partition, into new partitions of their time, and returns how many. Such
// rows prevent Maintain from creating these partitions: call MoveDefault when Maintain reports them, and Maintain again
// after it.
//
// It makes a partition of at most batch rows at a time, so a period with more rows gets several partitions. While a
// piece is moved, statements on the table wait; each that begins after it sees each row once. On PostgreSQL that takes
// the time to copy the piece and to read the default partition once. On MySQL and MariaDB the server copies all rows of
// the default partition for each piece: choose a batch larger than the number of rows. Finished pieces stay after an
// error or a crash.
//
// Triggers do not see the move. On PostgreSQL 14 only a superuser may move rows of a table with row triggers. A
// transaction on PostgreSQL with an older snapshot, in REPEATABLE READ or SERIALIZABLE or in a STABLE function, may not
// find the rows by their keys.
//
// Rows whose partition Maintain would drop or report stay, and the error matches ErrBlocked: those with a key before
// WithStart, or without it of the layout's first hour, as keys of a sequence are; after the layout's end; beyond the
// retention; and over 400 days after the partitions ahead. MoveDefault returns ErrOption for a batch below 1,
// ErrTable if a foreign key of another table refers to the rows, and ErrLocked.
func (s *Set) MoveDefault(ctx context.Context, db *sql.DB, batch int) (moved int64, err error) {
	if batch < 1 {
		return 0, fmt.Errorf("%w: MoveDefault with a batch of %d, want at least 1", ErrOption, batch)
	}

	for {
		var piece *Step
		var rows int64
		var problems []error
		err := s.try(ctx, db, true, func(s *Set, q querier) error {
			piece = nil
			st, err := s.engine.inspect(ctx, q, s)
			if err != nil || st.defaultPart == nil {
				return err
			}

			p := s.newPlanner(st, s.now(), s.probe(ctx, q, st))
			next := p.misplaced(batch)
			problems = p.plan.Problems
			if p.err != nil || next == nil {
				return p.err
			}

			piece = next
			rows, err = s.engine.move(ctx, q, s, st, *piece)
			return err
		})
		if err == nil && piece != nil {
			moved += rows
			s.logger().InfoContext(ctx, "rows moved out of the default partition",
				"partition", piece.Partition, "rows", rows)
			continue
		}

		if err := errors.Join(append(problems, err)...); err != nil {
			return moved, fmt.Errorf("partition: move the default partition of %v: %w", s.table, err)
		}

		return moved, nil
	}
}

// misplaced returns the step that creates the partition for the least keys of the default partition, or nil if there are
// none. Rows that stay are problems.
func (p *planner) misplaced(batch int) *Step {
	least := p.afterSequences() // that is moved
	if !p.begin.IsZero() {
		least = p.Bound(p.begin)
	}
	if p.retain > 0 {
		least = max(least, p.cutoff)
	}

	if key, found := p.find(*p.defaultPart, noLow, least, 0); found {
		p.plan.problem(p.defaultPart.table, "the row with the key %d is older than the first ID that is kept, %d: "+
			"move or delete such rows by hand, or set WithStart to the time of the oldest ID", key, least)
	}

	key, found := p.find(*p.defaultPart, least, noHigh, 0)
	if !found {
		return nil
	}

	at := p.Of(key)
	if key < at.Lo || key >= at.Hi {
		p.plan.problem(p.defaultPart.table, "the key %d is no ID of the layout: move or delete such rows by hand", key)
		return nil
	}

	if ahead := p.horizon().To; p.isStrange(ahead, at.To) {
		p.plan.problem(p.defaultPart.table,
			"the row with the key %d is of %s, long after %s: a wrong clock may have made it. "+
				"Delete such rows, or give them other keys", key, p.Text(p.At(key)), p.Text(ahead))
		return nil
	}

	for _, g := range p.gaps(at) {
		if key < g.Lo || key >= g.Hi {
			continue
		}

		if end, found := p.find(*p.defaultPart, key, g.Hi, batch); found { // the row after the batch begins the next piece
			g.Hi = max(end, key+1)
		}
		return &Step{
			Action: actionCreate, Partition: p.newName(at, p.taken), Lo: snowflake.ID(g.Lo),
			Hi: snowflake.ID(g.Hi),
		}
	}

	p.fail(fmt.Errorf("the default partition %v has the key %d of another partition", p.defaultPart.name, key))
	return nil
}
