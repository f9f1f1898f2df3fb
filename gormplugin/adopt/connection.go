package adopt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// pin is a handle on one connection whose session settings are changed temporarily.
type pin struct {
	*gorm.DB
	undo []string // statements that restore the settings, run from the last to the first
}

// held is a connection that looks like a transaction. Plugins such as dbresolver leave transactions alone and replace
// the pool of other handles for each statement.
type held struct{ *sql.Conn }

func (held) Commit() error   { return sql.ErrTxDone }
func (held) Rollback() error { return sql.ErrTxDone }

// pinned runs f on one connection, that of the handle if it has only one, and restores what f has set.
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

// set runs a statement; restore runs undo later.
func (p *pin) set(change, undo string) error {
	if err := run(p.DB, change); err != nil {
		if p.Statement.Context.Err() != nil { // an interrupted statement may have taken effect
			_ = run(p.uninterrupted().Session(&gorm.Session{Logger: logger.Discard}), undo)
		}
		return err
	}
	p.undo = append(p.undo, undo)
	return nil
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
	for _, statement := range slices.Backward(p.undo) {
		if err := run(p.uninterrupted(), statement); err != nil {
			p.discard()
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// isLost reports whether the connection is unusable, as after an interrupted statement on MySQL.
func (p *pin) isLost() bool {
	conn, ok := p.Statement.ConnPool.(held)
	return ok && conn.PingContext(context.WithoutCancel(p.Statement.Context)) != nil
}

// discard removes the connection from its pool.
func (p *pin) discard() {
	if conn, ok := p.Statement.ConnPool.(held); ok {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// uninterrupted returns the handle without the cancellation of its context.
func (p *pin) uninterrupted() *gorm.DB {
	return p.WithContext(context.WithoutCancel(p.Statement.Context))
}

// inTransaction reports whether the handle comes from Begin or Transaction.
func inTransaction(db *gorm.DB) bool {
	_, ok := db.Statement.ConnPool.(gorm.TxCommitter)
	return ok
}

// verbatim is SQL that GORM must not search for parameters.
type verbatim string

func (v verbatim) Build(builder clause.Builder) { _, _ = builder.WriteString(string(v)) }

// run executes a statement as it is written.
func run(db *gorm.DB, statement string) error {
	return db.Exec("?", verbatim(statement)).Error
}
