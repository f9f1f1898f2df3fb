package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
)

// setForModify sets what a session needs to take the definitions of SHOW CREATE TABLE.
func setForModify(p *pin, unchecked bool) error {
	var checks int
	var modes string
	if err := p.Raw("SELECT @@SESSION.foreign_key_checks, @@SESSION.sql_mode").Row().Scan(&checks, &modes); err != nil {
		return err
	}
	// The server writes a backslash in a comment as two, whatever the mode, and this mode reads two.
	const literal = "NO_BACKSLASH_ESCAPES"
	if all := strings.Split(modes, ","); slices.Contains(all, literal) {
		others := slices.DeleteFunc(all, func(mode string) bool { return mode == literal })
		const set = "SET SESSION sql_mode = '%s'"
		if err := p.set(fmt.Sprintf(set, strings.Join(others, ",")), fmt.Sprintf(set, modes)); err != nil {
			return err
		}
	}
	if !unchecked {
		return nil
	}
	// MySQL takes the loss of AUTO_INCREMENT for a change of type, which foreign keys forbid.
	return p.set("SET SESSION foreign_key_checks = 0", fmt.Sprintf("SET SESSION foreign_key_checks = %d", checks))
}

// killTime bounds the time in which kill does its work.
const killTime = 10 * time.Second

// kill ends a connection that was given up, and waits for that: the driver only hangs up, and a statement that waits for a
// lock goes on for a while, and may change the table when nobody expects it any more.
func kill(db *gorm.DB, connection int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(db.Statement.Context), killTime)
	defer cancel()
	pool := unprepared(db.ConnPool)
	_, err := pool.ExecContext(ctx, fmt.Sprintf("KILL %d", connection)) // an error if it has ended already
	for {
		left := 0
		row := pool.QueryRowContext(ctx, "SELECT count(*) FROM information_schema.processlist WHERE id = ?", connection)
		if failed := row.Scan(&left); failed == nil && left == 0 {
			return nil
		} else if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("gormplugin: the interrupted change of a table may still be made: kill %d: %w", connection, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
