package segment_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/segment"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// childVariable makes the test binary a process that issues numbers until it is killed. It has the driver, the DSN and
// the dialect, one a line.
const childVariable = "SEGMENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		fmt.Fprintln(os.Stderr, issue(strings.Split(child, "\n")))
		os.Exit(1)
	}
	os.Exit(testdb.Main(m))
}

// issue prints numbers as soon as it has them.
func issue(args []string) error {
	db, err := sql.Open(args[0], args[1])
	if err != nil {
		return err
	}

	ctx := context.Background()
	s, err := segment.Open(ctx, db, sqldb.Dialect(args[2]), "invoices", segment.WithBlock(5000))
	if err != nil {
		return err
	}

	for {
		ids := make([]snowflake.ID, 1+rand.N(500))
		if err := s.Fill(ctx, ids); err != nil {
			return err
		}
		if err := binary.Write(os.Stdout, binary.LittleEndian, ids); err != nil {
			return err
		}
	}
}

func TestKilledProcessesRepeatNoNumber(t *testing.T) {
	side, kills := 4, 4 // processes at a time, and of each in a row
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		side, kills = 32, 16
	}

	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		must(t, segment.Migrate(t.Context(), target.Open(t), dialectOf(target)))
		child := fmt.Sprintf("%s=%s\n%s\n%s", childVariable, target.Driver, target.DSN, dialectOf(target))
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[uint64]bool{}
		for range side {
			wg.Go(func() {
				for range kills {
					issued := killOne(t, child)
					mu.Lock()
					for ; len(issued) >= 8; issued = issued[8:] { // the last one may be cut off
						n := binary.LittleEndian.Uint64(issued)
						if n == 0 || seen[n] {
							t.Errorf("%d came twice", n)
						}
						seen[n] = true
					}
					mu.Unlock()
				}
			})
		}

		wg.Wait()
		if len(seen) < 100 {
			t.Errorf("%d numbers, want more", len(seen))
		}
	})
}

// killOne starts a process, kills it and returns what it has printed: one in five while it starts, the others after they
// have issued numbers.
func killOne(t *testing.T, variable string) []byte {
	child, failure := exec.CommandContext(t.Context(), os.Args[0]), new(bytes.Buffer)
	child.Env, child.Stderr = append(os.Environ(), variable), failure
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}

	if err != nil {
		t.Error(err)
		return nil
	}

	var first [8]byte
	n := 0
	if rand.N(5) > 0 {
		n, _ = io.ReadFull(out, first[:]) // fails if the process did, which has said why
	}

	time.AfterFunc(rand.N(50*time.Millisecond), func() { _ = child.Process.Kill() }) // any instant will do
	rest, _ := io.ReadAll(out)
	_ = child.Wait() // it was killed
	if failure.Len() > 0 {
		t.Errorf("a process failed: %s", failure)
	}

	return append(first[:n], rest...)
}

// Whoever may only create objects in a schema of the search_path runs nothing as a process that takes numbers.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		db := victim.Open(t)
		must(t, segment.Migrate(t.Context(), db, sqldb.Postgres))
		for range 2 {
			named(t, db, sqldb.Postgres, "n", segment.WithBlock(5))
		}
	})
}
