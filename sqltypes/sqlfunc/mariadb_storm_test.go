package sqlfunc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// queryInterrupted is ER_QUERY_INTERRUPTED, https://mariadb.com/kb/en/mariadb-error-code-reference/.
const queryInterrupted = 1317

// noAutoIncrement is ER_AUTOINC_READ_FAILED, of a wait that is killed with innodb_autoinc_lock_mode=0.
const noAutoIncrement = 1467

// Statements are killed at any point, and the clock stands still, so only the counter prevents duplicates.
func TestMariaDBNeverRepeatsAnIDUnderKillQuery(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithClock("1800000000000000"))
	db.exec(t, "CREATE TABLE kept (id BIGINT NOT NULL PRIMARY KEY) ENGINE=InnoDB")
	db.exec(t, "CREATE TABLE numbers (n INT PRIMARY KEY) ENGINE=InnoDB")
	db.exec(t, "INSERT INTO numbers SELECT seq FROM seq_1_to_300")
	end := time.Now().Add(stormTime())
	limit := end.Add(3 * time.Minute)
	var killed, inserted atomic.Int64
	storming := func() bool { // also until something has happened
		now := time.Now()
		return now.Before(end) || (killed.Load() == 0 || inserted.Load() == 0) && now.Before(limit)
	}
	var done sync.WaitGroup
	for range 4 {
		conn := db.settings(t)
		var id int64
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		working := make(chan struct{})
		done.Go(func() {
			defer close(working)
			for storming() {
				n := 1 + rand.IntN(300)
				query := fmt.Sprintf("INSERT INTO kept SELECT snowflake_next() FROM numbers WHERE n <= %d", n)
				_, err := conn.ExecContext(t.Context(), query)
				var refused *mysql.MySQLError
				if errors.As(err, &refused) && (refused.Number == queryInterrupted || refused.Number == noAutoIncrement) {
					killed.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				inserted.Add(int64(n))
			}
		})
		done.Go(func() {
			for {
				select {
				case <-working:
					return
				case <-time.After(time.Duration(rand.IntN(20_000)) * time.Microsecond):
					_, _ = db.ExecContext(t.Context(), fmt.Sprintf("KILL QUERY %d", id)) // fails if nothing runs
				}
			}
		})
	}
	done.Wait()
	if killed.Load() == 0 || inserted.Load() == 0 {
		t.Fatalf("%d statements were killed, %d rows inserted: nothing is tested", killed.Load(), inserted.Load())
	}
	// A duplicate ID would have failed its statement, so all inserted rows must exist.
	if n := scan[int64](t, db, "SELECT COUNT(*) FROM kept"); n != inserted.Load() {
		t.Errorf("%d rows, want %d", n, inserted.Load())
	}
	if n := scan[int](t, db, "SELECT COUNT(*) FROM snowflake_state"); n != 4096 {
		t.Errorf("%d rows in the state, want 4096", n)
	}
}
