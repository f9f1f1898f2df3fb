package partition_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// adoptChild is an environment variable with what the child process needs: how many steps it makes before it waits for
// its end, 0 for all; the offset of its zone; and the DSN of the database.
const adoptChild = "SQLFLAKE_ADOPT_CHILD"

// stopAfter is the output of the child's log. It never returns from the line after which the process is to wait.
type stopAfter struct{ lines int }

func (s *stopAfter) Write(text []byte) (int, error) {
	n, err := os.Stdout.Write(text)
	if s.lines--; s.lines == 0 {
		select {}
	}
	return n, err
}

// TestAdoptChild is the program of the other process.
func TestAdoptChild(t *testing.T) {
	text := os.Getenv(adoptChild)
	if text == "" {
		t.Skip("for another process")
	}
	var steps, offset int
	var dsn string
	if _, err := fmt.Sscan(text, &steps, &offset, &dsn); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fmt.Println("started")
	set, err := partition.New(sqldb.Postgres, "events", partition.Day, partition.WithZone(time.FixedZone("noon", offset)),
		partition.WithStalls(time.Minute, time.Minute),
		partition.WithLogger(slog.New(slog.NewTextHandler(&stopAfter{steps}, nil))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed leaves a state that the next one goes on from, wherever it was.
func TestAdoptGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	want := map[string][]string(nil)
	phases := make(map[string]int) // what the killed process had done
	for i := range 9 {
		a := newAdopter(t, writtenTable)
		a.run("INSERT INTO events VALUES (1);\nINSERT INTO lines VALUES (1, 1);\n")
		if i > 0 {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAdoptChild$")
			_, offset := noon.Zone()
			steps := 0
			if i%2 == 0 {
				steps = i - 1 // the process waits for the kill after this step
			}
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", adoptChild, steps, offset, a.target.DSN))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for n := 0; n < i && lines.Scan(); n++ { // one line a step
			}
			if steps == 0 {
				time.Sleep(time.Duration(i%3) * 5 * time.Millisecond) // within the next one
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed, or done before
			phases[fmt.Sprint(a.texts(`SELECT conname || convalidated FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
				AND conname IN ('sqlflake_adopt', 'lines_event_fkey') AND conparentid = 0 ORDER BY 1`),
				a.texts(`SELECT count(*)::text FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`))]++
		}
		a.adopt(a.newSet(partition.Day))
		got := a.describe()
		got["partitions"] = a.texts(`SELECT relname || pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind = 'r'
			AND relnamespace = current_schema()::regnamespace ORDER BY 1`)
		got["rows"] = a.texts("SELECT id::text FROM events")
		schema := a.texts("SELECT current_schema()::text")[0]
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
	a := newAdopter(t, writtenTable)
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
			if err != nil {
				t.Error(err)
			}
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
