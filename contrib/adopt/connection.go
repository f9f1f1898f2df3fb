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

// session is a handle on one connection whose session settings are changed temporarily.
type session struct {
	*gorm.DB
	conn *sql.Conn
	undo [][]string // statements that restore each setting, run from the last setting to the first
}

// sessionConn is a connection that looks like a transaction. Plugins such as dbresolver leave transactions alone and
// replace the pool of other handles for each statement.
type sessionConn struct{ *sql.Conn }

func (sessionConn) Commit() error   { return sql.ErrTxDone }
func (sessionConn) Rollback() error { return sql.ErrTxDone }

// withSession runs f on one connection, the one of the handle if it has only one, and restores what f has set.
//
// A transaction is refused: MySQL would commit it, and in it PRAGMA foreign_keys has no effect, so that DROP TABLE of
// SQLite would delete rows that refer to the table.
func withSession(db *gorm.DB, f func(s *session) error) error {
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return fmt.Errorf("%w: the handle is in a transaction, in which %s cannot change a table; "+
			"pass one outside of it", ErrAutoIncrementKept, db.Name())
	}

	on := func(tx *gorm.DB) (err error) {
		conn, ok := tx.Statement.ConnPool.(*sql.Conn)
		if !ok {
			return gorm.ErrInvalidDB
		}

		s := &session{DB: db.Session(&gorm.Session{NewDB: true, Context: db.Statement.Context}), conn: conn}
		s.Statement.ConnPool = sessionConn{conn}
		defer func() { err = errors.Join(err, s.restore()) }()

		return f(s)
	}

	if _, ok := db.Statement.ConnPool.(*sql.Conn); ok { // of db.Connection
		return on(db)
	}
	return db.Connection(on)
}

// set runs a statement; restore runs undo later.
func (s *session) set(change string, undo ...string) error {
	if err := run(s.DB, change); err != nil {
		if s.Statement.Context.Err() != nil { // an interrupted statement may have taken effect
			_ = run(s.uninterrupted().Session(&gorm.Session{Logger: logger.Discard}), undo...)
		}
		return err
	}

	s.undo = append(s.undo, undo)
	return nil
}

// switchTo sets a setting of the session, which is a number; restore sets what it was.
func (s *session) switchTo(read, set string, value int) error {
	var before int
	if err := s.Raw(read).Row().Scan(&before); err != nil {
		return err
	}
	return s.set(fmt.Sprintf("%s = %d", set, value), fmt.Sprintf("%s = %d", set, before))
}

// commit ends the transaction that the last call of set began.
func (s *session) commit() error {
	if err := run(s.uninterrupted(), "COMMIT"); err != nil {
		return err
	}

	s.undo = s.undo[:len(s.undo)-1]
	return nil
}

// restore runs the statements that restore the settings. If one fails, the connection leaves its pool.
func (s *session) restore() error {
	for _, statements := range slices.Backward(s.undo) {
		if err := run(s.uninterrupted(), statements...); err != nil {
			_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
			return fmt.Errorf("%s: %w", strings.Join(statements, "; "), err)
		}
	}
	return nil
}

// uninterrupted returns the handle without the cancellation of its context.
func (s *session) uninterrupted() *gorm.DB {
	return s.WithContext(context.WithoutCancel(s.Statement.Context))
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
