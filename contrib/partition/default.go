package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
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
		piece, rows, err := s.movePiece(ctx, db, batch)
		if err != nil {
			return moved, fmt.Errorf("partition: move the default partition of %v: %w", s.table.Name, err)
		}
		if piece == nil {
			return moved, nil
		}

		moved += rows
		s.logger().InfoContext(ctx, "rows moved out of the default partition",
			"partition", piece.Partition, "rows", rows)
	}
}

// movePiece moves the rows of one partition, and returns nil if there are none to move. Rows that stay are errors only
// if no piece was moved.
func (s *Set) movePiece(ctx context.Context, db *sql.DB, batch int) (piece *engine.Change, rows int64, err error) {
	var problems []error
	err = s.try(ctx, db, true, func(s *Set, q engine.Querier) error {
		piece = nil
		st, err := s.engine.Inspect(ctx, q, &s.table)
		if err != nil || st.Default == nil {
			return err
		}

		p := s.newPlanner(st, s.now(), s.probe(ctx, q, st))
		next := p.misplaced(batch)
		problems = p.plan.Problems
		if p.err != nil || next == nil {
			return p.err
		}

		piece = next
		rows, err = s.engine.Move(ctx, q, &s.table, st, *piece)
		return err
	})
	if err == nil && piece != nil {
		return piece, rows, nil
	}
	return nil, 0, errors.Join(append(problems, err)...)
}

// misplaced returns the change that creates the partition for the least keys of the default partition, or nil if there
// are none. Rows that stay are problems.
func (p *planner) misplaced(batch int) *engine.Change {
	least := p.leastMoved()
	if key, found := p.find(*p.Default, engine.NoLow, least, 0); found {
		p.plan.problem(p.Default.Table, "the row with the key %d is older than the first ID that is kept, %d: "+
			"move or delete such rows by hand, or set WithStart to the time of the oldest ID", key, least)
	}

	key, found := p.find(*p.Default, least, engine.NoHigh, 0)
	if !found {
		return nil
	}

	at := p.Of(key)
	if key < at.Lo || key >= at.Hi {
		p.plan.problem(p.Default.Table, "the key %d is no ID of the layout: move or delete such rows by hand", key)
		return nil
	}

	if ahead := p.horizon().To; p.isStrange(ahead, at.To) {
		p.plan.problem(p.Default.Table,
			"the row with the key %d is of %s, long after %s: a wrong clock may have made it. "+
				"Delete such rows, or give them other keys", key, p.Text(p.At(key)), p.Text(ahead))
		return nil
	}

	for _, gap := range p.gaps(at) {
		if key < gap.Lo || key >= gap.Hi {
			continue
		}

		// The row after the batch begins the next piece.
		if end, found := p.find(*p.Default, key, gap.Hi, batch); found {
			gap.Hi = max(end, key+1)
		}
		return &engine.Change{
			Action: engine.Create, Partition: p.newName(at, p.taken), Lo: gap.Lo, Hi: gap.Hi,
		}
	}

	p.fail(fmt.Errorf("the default partition %v has the key %d of another partition", p.Default.Name, key))
	return nil
}

// leastMoved returns the least key that MoveDefault moves.
func (p *planner) leastMoved() int64 {
	least := p.afterSequences()
	if !p.begin.IsZero() {
		least = p.Bound(p.begin)
	}
	if p.retain > 0 {
		least = max(least, p.cutoff)
	}
	return least
}
