package adopt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// pin is a handle on one connection whose settings are changed for a while.
type pin struct {
	*gorm.DB
	undo []string // statements that take the changes back, from the last to the first
}

// held is a connection that looks like a transaction, which plugins such as dbresolver leave alone: of other handles
// they replace the pool for each statement.
type held struct{ *sql.Conn }

func (held) Commit() error   { return sql.ErrTxDone }
func (held) Rollback() error { return sql.ErrTxDone }

// pinned runs f on a connection of its own, or on that of the handle if it has but one, and takes back what f has set.
func pinned(db *gorm.DB, f func(p *pin) error) error {
	if conn, ok := db.Statement.ConnPool.(*sql.Conn); ok { // of db.Connection
		return pinnedTo(conn, db, f)
	}
	return db.Connection(func(tx *gorm.DB) error {
		conn, ok := tx.Statement.ConnPool.(*sql.Conn)
		if !ok {
			return gorm.ErrInvalidDB
		}
		return pinnedTo(conn, db, f)
	})
}

func pinnedTo(conn *sql.Conn, db *gorm.DB, f func(p *pin) error) (err error) {
	p := &pin{DB: db.Session(&gorm.Session{NewDB: true, Context: db.Statement.Context})}
	p.Statement.ConnPool = held{conn}
	defer func() { err = errors.Join(err, p.restore()) }()
	return f(p)
}

// set runs a statement, and later the one that undoes it.
func (p *pin) set(change, undo string) error {
	if err := run(p.DB, change); err != nil {
		if p.Statement.Context.Err() != nil { // an interrupted statement may have done its work
			_ = run(p.uninterrupted().Session(&gorm.Session{Logger: logger.Discard}), undo)
		}
		return err
	}
	p.undo = append(p.undo, undo)
	return nil
}

// commit ends the transaction that was the last to be set.
func (p *pin) commit() error {
	if err := run(p.uninterrupted(), "COMMIT"); err != nil {
		return err
	}
	p.undo = p.undo[:len(p.undo)-1]
	return nil
}

func (p *pin) restore() error {
	for _, statement := range slices.Backward(p.undo) {
		if err := run(p.uninterrupted(), statement); err != nil {
			p.discard()
			return fmt.Errorf("adopt: drop auto-increment: %s: %w", statement, err)
		}
	}
	return nil
}

// isLost reports whether the connection can no longer be used, as after a statement that was interrupted on MySQL.
func (p *pin) isLost() bool {
	conn, ok := p.Statement.ConnPool.(held)
	return ok && conn.PingContext(context.WithoutCancel(p.Statement.Context)) != nil
}

// discard keeps the connection from being used again.
func (p *pin) discard() {
	if conn, ok := p.Statement.ConnPool.(held); ok {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

func (p *pin) uninterrupted() *gorm.DB {
	return p.WithContext(context.WithoutCancel(p.Statement.Context))
}
