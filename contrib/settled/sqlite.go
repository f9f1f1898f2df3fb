package settled

import (
	"context"
	"database/sql"
	"time"
)

// readSQLite takes the write lock. While it has it, no transaction is open that has written; all that get the lock
// later begin after the time that is returned.
func readSQLite(ctx context.Context, conn *sql.Conn) (snapshot, error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if ctx.Err() != nil { // a driver may return that although it has begun, as modernc.org/sqlite does
			rollback(ctx, conn)
		}
		return snapshot{}, err
	}
	defer rollback(ctx, conn)

	var now int64
	const milliseconds = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
	if err := conn.QueryRowContext(ctx, milliseconds).Scan(&now); err != nil {
		return snapshot{}, err
	}

	return snapshotAt(time.UnixMilli(now)), nil
}
