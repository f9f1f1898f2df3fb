package adopt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// pin is a handle on one connection whose session settings are changed temporarily.
type pin struct {
	*gorm.DB
	conn *sql.Conn
	undo [][]string // statements that restore each setting, run from the last setting to the first
}

// held is a connection that looks like a transaction. Plugins such as dbresolver leave transactions alone and replace
// the pool of other handles for each statement.
type held struct{ *sql.Conn }

func (held) Commit() error   { return sql.ErrTxDone }
func (held) Rollback() error { return sql.ErrTxDone }

// pinned runs f on one connection, that of the handle if it has only one, and restores what f has set.
//
// A transaction is refused: MySQL would commit it, and in it PRAGMA foreign_keys has no effect, so that DROP TABLE of
// SQLite would delete rows that refer to the table.
func pinned(db *gorm.DB, f func(p *pin) error) error {
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return fmt.Errorf("%w: the handle is in a transaction, in which %s cannot change a table; pass one outside of it",
			ErrAutoIncrementKept, db.Name())
	}
	on := func(tx *gorm.DB) (err error) {
		conn, ok := tx.Statement.ConnPool.(*sql.Conn)
		if !ok {
			return gorm.ErrInvalidDB
		}
		p := &pin{DB: db.Session(&gorm.Session{NewDB: true, Context: db.Statement.Context}), conn: conn}
		p.Statement.ConnPool = held{conn}
		defer func() { err = errors.Join(err, p.restore()) }()
		return f(p)
	}
	if _, ok := db.Statement.ConnPool.(*sql.Conn); ok { // of db.Connection
		return on(db)
	}
	return db.Connection(on)
}

// set runs a statement; restore runs undo later.
func (p *pin) set(change string, undo ...string) error {
	if err := run(p.DB, change); err != nil {
		if p.Statement.Context.Err() != nil { // an interrupted statement may have taken effect
			_ = run(p.uninterrupted().Session(&gorm.Session{Logger: logger.Discard}), undo...)
		}
		return err
	}
	p.undo = append(p.undo, undo)
	return nil
}

// switchTo sets a setting of the session, which is a number; restore sets what it was.
func (p *pin) switchTo(read, set string, value int) error {
	var before int
	if err := p.Raw(read).Row().Scan(&before); err != nil {
		return err
	}
	return p.set(fmt.Sprintf("%s = %d", set, value), fmt.Sprintf("%s = %d", set, before))
}

// commit ends the transaction that the last call of set began.
func (p *pin) commit() error {
	if err := run(p.uninterrupted(), "COMMIT"); err != nil {
		return err
	}
	p.undo = p.undo[:len(p.undo)-1]
	return nil
}

func (p *pin) restore() error {
	for _, statements := range slices.Backward(p.undo) {
		if err := run(p.uninterrupted(), statements...); err != nil {
			_ = p.conn.Raw(func(any) error { return driver.ErrBadConn }) // removes it from its pool
			return fmt.Errorf("%s: %w", strings.Join(statements, "; "), err)
		}
	}
	return nil
}

// uninterrupted returns the handle without the cancellation of its context.
func (p *pin) uninterrupted() *gorm.DB {
	return p.WithContext(context.WithoutCancel(p.Statement.Context))
}

// run executes statements as they are written: GORM does not search an expression without values for parameters.
func run(db *gorm.DB, statements ...string) error {
	for _, statement := range statements {
		if err := db.Exec("?", gorm.Expr(statement)).Error; err != nil {
			return err
		}
	}
	return nil
}

// count returns the number of rows.
func count(db *gorm.DB, from string, args ...any) (n int64, err error) {
	err = db.Raw("SELECT count(*) FROM "+from, args...).Row().Scan(&n)
	return n, err
}
