package partition_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// A process that is killed leaves a state from which the next one continues, wherever it was.
func TestAdoptGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	want := map[string][]string(nil)
	phases := make(map[string]int) // what the killed process had done
	for i := range 9 {
		a := onPostgres(t, writtenTable)
		a.exec("INSERT INTO events VALUES (1);\nINSERT INTO lines VALUES (1, 1);\n")
		if i > 0 {
			j := job{Target: a.target, Mode: "adopt"}
			if i%2 == 0 {
				j.Steps = i - 1 // the process waits for the kill after this step
			}
			p := startProcess(t, j)
			for n := 0; n < i && p.line() != "ended"; n++ { // one line a step
			}
			if j.Steps == 0 {
				time.Sleep(time.Duration(i%3) * 5 * time.Millisecond) // within the next one
			}
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait() // killed, or done before
			phases[fmt.Sprint(a.texts(`SELECT conname || convalidated FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
				AND conname IN ('sqlflake_adopt', 'lines_event_fkey') AND conparentid = 0 ORDER BY 1`),
				a.texts(`SELECT count(*)::text FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`))]++
		}
		a.adopt(a.newSet(partition.Day))
		got := a.describe()
		got["partitions"] = a.texts(`SELECT relname || pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind = 'r'
			AND relnamespace = current_schema()::regnamespace ORDER BY 1`)
		got["rows"] = a.texts("SELECT id::text FROM events")
		schema := a.schema()
		for name := range got {
			for i, text := range got[name] {
				got[name][i] = strings.ReplaceAll(text, schema+".", "")
			}
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after a kill:\n%v\nwithout:\n%v", got, want)
		}
	}
	t.Logf("killed in the states %v", phases)
	if len(phases) < 4 {
		t.Errorf("states of the killed processes %v: want several", phases)
	}
}

// Any number of processes may adopt the table: one does it, and the others find it done.
func TestAdoptByManyProcesses(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, writtenTable)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := make(map[string]int)
	for range 6 {
		wg.Go(func() {
			db, err := sql.Open("pgx", a.target.DSN)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			steps, err := a.newSet(partition.Day).Adopt(t.Context(), db)
			a.ok(err)
			mu.Lock()
			defer mu.Unlock()
			for _, step := range steps {
				done[step.Partition+": "+step.Why]++
			}
		})
	}
	wg.Wait()
	for why, n := range done {
		if n != 1 {
			t.Errorf("%s: %d times", why, n)
		}
	}
	if len(done) != 8 {
		t.Errorf("%d steps, want 8: %v", len(done), done)
	}
}
