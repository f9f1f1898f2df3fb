package segment_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/segment"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// childVariable makes the test binary a process that issues numbers until it is killed. It has the driver, the DSN, the
// dialect and a file, one a line.
const childVariable = "SEGMENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		fmt.Fprintln(os.Stderr, issue(strings.Split(child, "\n")))
		os.Exit(1)
	}
	os.Exit(testdb.Main(m))
}

// issue appends numbers to a file as soon as it has them.
func issue(args []string) error {
	file, err := os.OpenFile(args[3], os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
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
		var text []byte
		for _, id := range ids {
			text = binary.LittleEndian.AppendUint64(text, uint64(id))
		}
		if _, err := file.Write(text); err != nil {
			return err
		}
	}
}

func TestKilledProcessesRepeatNoNumber(t *testing.T) {
	side, kills := 4, 16 // processes at a time, and in all
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		side, kills = 32, 500
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		db := target.Open(t)
		if err := segment.Migrate(t.Context(), db, dialectOf(target)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		child := fmt.Sprintf("%s=%s\n%s\n%s\n", childVariable, target.Driver, target.DSN, dialectOf(target))
		left := make(chan string, kills)
		for i := range kills {
			left <- filepath.Join(dir, strconv.Itoa(i))
		}
		close(left)
		var wg sync.WaitGroup
		for range side {
			wg.Go(func() {
				for file := range left {
					if err := killOne(child+file, file); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		seen := map[uint64]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for ; len(text) >= 8; text = text[8:] { // the last one may be cut off
				n := binary.LittleEndian.Uint64(text)
				if n == 0 || seen[n] {
					t.Fatalf("%d came twice", n)
				}
				seen[n] = true
			}
		}
		if len(seen) < 100 {
			t.Errorf("%d numbers, want more", len(seen))
		}
		t.Logf("%d numbers of %d killed processes", len(seen), kills)
	})
}

// killOne starts a process and kills it: one in five while it starts, the others after they have issued numbers.
func killOne(variable, file string) error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), variable)
	var out bytes.Buffer
	child.Stderr = &out
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = child.Wait() // it was killed, or has said why it failed
		close(ended)
	}()
	issues := func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	}
	for running := rand.N(5) > 0; running && !issues(); {
		select {
		case <-ended:
			running = false
		case <-time.After(2 * time.Millisecond):
		}
	}
	time.Sleep(rand.N(50 * time.Millisecond)) // any instant will do
	_ = child.Process.Kill()
	<-ended
	if out.Len() > 0 {
		return fmt.Errorf("a process failed: %s", out.String())
	}
	return nil
}
