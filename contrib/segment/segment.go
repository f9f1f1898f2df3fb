// Package segment issues short ascending numbers, for order numbers and short codes. One UPDATE takes a block of
// numbers from a table, and the process issues them from memory. Numbers have gaps, so they are not for invoices
// that must have none. It works like Leaf-segment (https://tech.meituan.com/2017/04/21/mt-leaf.html).
//
//	err := segment.Migrate(ctx, db, sqldb.Postgres) // creates the table
//	numbers, err := segment.Open(ctx, db, sqldb.Postgres, "orders")
//	defer numbers.Close()
//	number, err := numbers.Next(ctx) // 1, 2, 3, ...
//
// A [Sequence] has the method Fill, so it is a generator for gormplugin's WithNamed and the tag
// "snowflake:gen=orders".
//
// No number is issued twice, however many processes and goroutines there are and whenever they are killed. There are
// gaps: what a process has not issued of its block when it ends is lost. The numbers of one process ascend; two
// processes alternate between blocks.
//
// A database that loses a committed UPDATE, as after a restore from a backup, a failover to a replica that lags behind,
// or a crash with synchronous_commit = off, repeats the numbers of the lost blocks. A process that gets a block below
// its last one returns an error instead.
//
// The UPDATE needs a connection besides the caller's. With SetMaxOpenConns(1), when all connections are in
// transactions that wait for numbers, and on SQLite while a transaction has written, it fails after ten seconds or
// SQLite's busy timeout. Take the numbers before the transaction, or make blocks twice as long as what transactions
// take. GORM begins one for each Create.
package segment

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/internal/operator"
	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Errors of this package. Match them with errors.Is.
var (
	// ErrOption means an invalid argument, or a database that can't be used: MySQL with autocommit = 0, and servers
	// that ignore LAST_INSERT_ID(x).
	ErrOption = errors.New("segment: invalid option")
	// ErrClosed means that the sequence was closed.
	ErrClosed = errors.New("segment: closed")
	// ErrExhausted means that no block is left below the greatest int64.
	ErrExhausted = errors.New("segment: no numbers left")
)

const (
	maxName      = 100 // bytes
	defaultBlock = 1000
	maxBlock     = 1 << 31
	retryAfter   = time.Second // for a block that is not needed yet
	fetchTimeout = 10 * time.Second
)

// Option is a setting of [Open]. A nil Option is an error that matches ErrOption.
type Option func(*Sequence) error

// WithBlock sets how many numbers an UPDATE takes, 1 to 2^31. Defaults to 1000. A process that ends loses at most two
// blocks, and more if a Fill is longer than a block.
func WithBlock(size int64) Option {
	return func(s *Sequence) error {
		if size < 1 || size > maxBlock {
			return fmt.Errorf("%w: a block of %d, want 1 to %d", ErrOption, size, int64(maxBlock))
		}
		s.block = size
		return nil
	}
}

// Sequence issues the numbers of one name. Its methods are safe for concurrent use. Make it with Open; the zero
// Sequence returns ErrClosed.
type Sequence struct {
	table table
	name  string
	block int64

	stop   context.CancelFunc
	ctx    context.Context // ends at Close
	closed sync.WaitGroup  // the running fetch

	mu      sync.Mutex
	blocks  []block   // in ascending order, none of them empty
	left    int64     // numbers in the blocks
	end     int64     // of the last block, even if it is used up
	fetch   *fetch    // nil while none is running
	failed  time.Time // of the last fetch that failed
	refusal error     // of a block that add refused, until a call has returned it
}

// block is the numbers next to end-1.
type block struct{ next, end int64 }

// fetch is an UPDATE that runs in the background, for at most fetchTimeout: a connection that has died does not answer.
type fetch struct {
	done chan struct{}
	err  error // when done is closed
}

// Open returns the sequence of a name, which begins with 1 at its first use. It takes the first block, so an error of
// the database shows here; Migrate creates the table.
//
// db may be anything but a transaction. The name has 1 to 100 bytes. Next and Fill take the next block in the
// background when half of this one is used. Open returns ErrOption, and the errors of the database and of ctx.
func Open(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect, name string, opts ...Option) (*Sequence, error) {
	t, err := tableOf(db, dialect)
	if err != nil {
		return nil, err
	}
	if name == "" || len(name) > maxName {
		return nil, fmt.Errorf("%w: the name %.20q has %d bytes, want 1 to %d", ErrOption, name, len(name), maxName)
	}

	s := &Sequence{table: t, name: name, block: defaultBlock}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt(s); err != nil {
			return nil, err
		}
	}

	if err := s.table.prepare(ctx, name); err != nil {
		return nil, fmt.Errorf("segment: open %q: %w", name, err)
	}
	first, err := s.table.takeBlock(ctx, name, s.block)
	if err != nil {
		return nil, err
	}

	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return s, s.add(first)
}

// Next returns the next number. It waits for the database only if the numbers at hand are used up, until ctx is done.
// It returns the errors of Fill.
func (s *Sequence) Next(ctx context.Context) (snowflake.ID, error) {
	var one [1]snowflake.ID
	err := s.Fill(ctx, one[:])
	return one[0], err
}

// Fill sets every element of dst to a new number, ascending, and without gaps if they come from one block. Calls that
// wait for a block at the same time have no order.
//
// It returns snowflake.ErrEmptyFill for a slice without elements, ErrClosed, ErrExhausted, the error of ctx, and that
// of the UPDATE if the numbers at hand are too few; the next call tries again. On an error dst is unchanged; the
// numbers at hand stay.
func (s *Sequence) Fill(ctx context.Context, dst []snowflake.ID) error {
	if s == nil || s.stop == nil {
		return ErrClosed
	}
	if len(dst) == 0 {
		return fmt.Errorf("%w: Fill of a slice of length 0 (capacity %d)", snowflake.ErrEmptyFill, cap(dst))
	}

	for {
		if ctx.Err() != nil {
			return s.notYet(ctx)
		}

		running, err := s.use(dst)
		if running == nil {
			return err
		}

		select {
		case <-running.done:
			if running.err != nil && s.ctx.Err() == nil {
				return running.err
			}
		case <-ctx.Done():
			return s.notYet(ctx)
		}
	}
}

func (s *Sequence) notYet(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("segment: no number of %q yet: %w", s.name, cause)
	}
	return fmt.Errorf("segment: no number of %q yet: %w: %w", s.name, err, cause)
}

// use sets dst to numbers at hand. If they are too few it takes none and returns the fetch that adds some, or the
// refusal of a block that a fetch in the background got.
func (s *Sequence) use(dst []snowflake.ID) (*fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, ErrClosed
	}

	want := int64(len(dst))
	if s.left < want {
		if err := s.refusal; err != nil {
			s.refusal = nil
			return nil, err
		}
		return s.fetchMore(max(s.block, want-s.left)), nil
	}

	s.left -= want
	for i := range dst {
		first := &s.blocks[0]
		dst[i] = snowflake.ID(first.next)
		if first.next++; first.next == first.end {
			s.blocks = s.blocks[1:]
		}
	}

	if s.left <= s.block/2 && time.Since(s.failed) > retryAfter {
		s.fetchMore(s.block)
	}
	return nil, nil
}

// fetchMore takes a block in the background, unless a fetch runs. The caller has the lock; the sequence is open.
func (s *Sequence) fetchMore(size int64) *fetch {
	if s.fetch != nil {
		return s.fetch
	}

	f := &fetch{done: make(chan struct{})}
	s.fetch = f
	s.closed.Go(func() {
		var b block
		ctx, cancel := context.WithTimeout(s.ctx, fetchTimeout)
		defer cancel()

		b, f.err = s.table.takeBlock(ctx, s.name, size)
		if f.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			f.err = fmt.Errorf("%w: no answer within %v", f.err, fetchTimeout)
		}

		s.mu.Lock()
		if f.err == nil {
			s.refusal = s.add(b) // for the next call that needs the block
		}
		if f.err != nil || s.refusal != nil {
			s.failed = time.Now()
		}
		s.fetch = nil
		s.mu.Unlock()
		close(f.done)
	})
	return f
}

// add appends a block, unless it has numbers that were issued before. The caller has the lock.
func (s *Sequence) add(b block) error {
	if b.next < s.end {
		return fmt.Errorf("segment: the block of %q begins at %d, below %d: the row was changed, or an UPDATE was lost",
			s.name, b.next, s.end)
	}
	s.blocks = append(s.blocks, b)
	s.left += b.end - b.next
	s.end = b.end
	return nil
}

// Close ends the sequence: later calls, and those that wait, return ErrClosed. It returns when the UPDATE that may be
// running has ended. What is left of the blocks is not issued. It always returns nil, even when it is called again.
func (s *Sequence) Close() error {
	if s == nil || s.stop == nil {
		return nil
	}
	s.mu.Lock()
	s.stop() // under the lock, so that no fetch begins after the wait
	s.mu.Unlock()
	s.closed.Wait()
	return nil
}

// last is the greatest end of a block.
const last = math.MaxInt64 - 1

// table is the statements of a dialect. A row has the number at which the next block of its name begins.
type table struct {
	sqltable.Tables
	schema, take string
	insert       string // MySQL: adds the row; elsewhere take does
}

const (
	tableName = "snowflake_segments"

	create = "CREATE TABLE IF NOT EXISTS snowflake_segments (\n\tname "
	upsert = `INSERT INTO snowflake_segments AS s (name, next_number) VALUES (?1, 1 + CAST(?2 AS bigint))
ON CONFLICT (name) DO UPDATE SET next_number = s.next_number + ?2 WHERE s.next_number <= ?3 RETURNING next_number`
)

var tables = map[sqldb.Dialect]table{
	sqldb.SQLite: {
		schema: create + "text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   upsert,
	},
	sqldb.Postgres: {
		schema: create + "pg_catalog.text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   operator.Qualify(strings.ReplaceAll(upsert, "?", "$")),
	},
	sqldb.MySQL: {
		// VARBINARY is compared byte by byte, and MyISAM survives no crash.
		schema: create + "VARBINARY(100) PRIMARY KEY,\n\tnext_number BIGINT NOT NULL\n) ENGINE=InnoDB",
		insert: "INSERT IGNORE INTO snowflake_segments (name, next_number) VALUES (?, 1)",
		// LAST_INSERT_ID(x) is x, and also the insert ID in the reply to the statement:
		// https://dev.mysql.com/doc/refman/8.4/en/information-functions.html#function_last-insert-id
		take: `UPDATE snowflake_segments SET next_number = LAST_INSERT_ID(next_number + ?)
WHERE next_number <= ? AND name = ?`,
	},
}

func tableOf(db sqldb.DB, dialect sqldb.Dialect) (table, error) {
	if err := sqldb.Validate(db, dialect); err != nil {
		return table{}, fmt.Errorf("%w: %w", ErrOption, err)
	}

	t := tables[dialect]
	t.Tables = sqltable.Tables{
		DB: db, Dialect: dialect, Parts: []sqltable.Part{{Name: tableName, Create: t.schema}},
		Read:   func(names []string) string { return "SELECT name, next_number FROM " + names[0] + " LIMIT 0" },
		Remedy: "set the search_path to the schema of %s", Refused: ErrOption,
	}
	return t, nil
}

// Schema returns the statement with which Migrate creates the table snowflake_segments, for migrations of your own; ""
// for an unknown dialect. Rows must not be deleted or changed: numbers would repeat. To begin above 1, insert the row
// (name, first number) before the first Open.
func Schema(dialect sqldb.Dialect) string { return tables[dialect].schema }

// Migrate creates the table if the database says that it is missing. It may run at the same time in any number of
// processes, and needs no right to create tables if the table exists.
//
// Two tables would issue each number twice. So on PostgreSQL it returns ErrOption instead of creating one if another
// schema of the database has a table of that name: set the search_path of the connection to that schema. Migrate and
// Open also return ErrOption for a table that belongs to a stranger: the owner must be a superuser, the owner of the
// schema or of the database, the current role or a role that it is a member of. Other errors are the database's.
func Migrate(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect) error {
	t, err := tableOf(db, dialect)
	if err != nil {
		return fmt.Errorf("%w; a transaction can execute the statement of Schema", err)
	}

	if err := t.Ensure(ctx, t.Find); err != nil {
		return fmt.Errorf("segment: migrate the table snowflake_segments: %w", err)
	}
	return nil
}

// number returns the number that a statement returns, or sql.ErrNoRows. It reads to the end: SQLite commits after the
// row, and only the commit counts.
func (t table) number(ctx context.Context, text string, args ...any) (n int64, err error) {
	missing := sql.ErrNoRows
	err = sqltable.Query(ctx, t.DB, text, args, func(scan func(...any) error) error {
		missing = nil
		return scan(&n)
	})
	return n, cmp.Or(err, missing)
}

// prepare finds out where the table is and whose on PostgreSQL, and adds the row of a name if take does not.
func (t *table) prepare(ctx context.Context, name string) error {
	if t.insert == "" {
		places, err := t.Find(ctx)
		if len(places) > 0 && !places[0].Missing {
			t.take = strings.Replace(t.take, tableName, places[0].Table, 1) // the same table on each connection
		}
		return err
	}

	on, err := t.number(ctx, "SELECT @@autocommit")
	if err == nil && on == 0 {
		return fmt.Errorf("%w: the connections have autocommit = 0, so no block would be committed", ErrOption)
	}
	if err == nil {
		_, err = t.DB.ExecContext(ctx, t.insert, name)
	}
	return err
}

// takeBlock takes a block of a size. It is one statement, which commits by itself.
func (t table) takeBlock(ctx context.Context, name string, size int64) (block, error) {
	end, err := t.end(ctx, name, size)
	for tries := 1; tries < maxTries && isConflict(err); tries++ {
		end, err = t.end(ctx, name, size)
	}

	switch {
	case errors.Is(err, sql.ErrNoRows):
		return block{}, fmt.Errorf("%w: a block of %d for %q would end above %d", ErrExhausted, size, name, int64(last))
	case err != nil:
		return block{}, fmt.Errorf("segment: take %d numbers of %q: %w", size, name, err)
	case end <= size:
		return block{}, fmt.Errorf(
			"%w: the block of %q ends at %d: the row was changed, or the server ignores LAST_INSERT_ID(x)",
			ErrOption, name, end)
	}

	return block{end - size, end}, nil
}

// maxTries is how often takeBlock tries in all while it loses to other processes.
const maxTries = 100

// isConflict reports whether PostgreSQL has refused the statement because another one was faster, as it does if
// default_transaction_isolation is repeatable read or serializable.
func isConflict(err error) bool { return sqltable.State(err) == "40001" }

// end returns the number after a new block, or sql.ErrNoRows if there is no room for it.
func (t table) end(ctx context.Context, name string, size int64) (int64, error) {
	isMySQL := t.insert != ""
	if !isMySQL {
		return t.number(ctx, t.take, name, size, last-size)
	}

	result, err := t.DB.ExecContext(ctx, t.take, size, last-size, name)
	if err != nil {
		return 0, err
	}

	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
