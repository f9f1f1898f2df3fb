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
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/segment"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The variables that make the test binary a process that issues numbers until it is killed.
const (
	childDriver  = "SEGMENT_TEST_DRIVER"
	childDSN     = "SEGMENT_TEST_DSN"
	childDialect = "SEGMENT_TEST_DIALECT"
	childFile    = "SEGMENT_TEST_FILE"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDriver) != "" {
		fmt.Fprintln(os.Stderr, issue())
		os.Exit(1)
	}
	os.Exit(testdb.Main(m))
}

// issue appends numbers to a file as soon as it has them.
func issue() error {
	file, err := os.OpenFile(os.Getenv(childFile), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	db, err := sql.Open(os.Getenv(childDriver), os.Getenv(childDSN))
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := segment.Open(ctx, db, sqldb.Dialect(os.Getenv(childDialect)), "invoices", segment.WithBlock(5000))
	if err != nil {
		return err
	}
	for {
		ids := make([]snowflake.ID, 1+rand.N(500))
		if err := s.Fill(ctx, ids); err != nil {
			return err
		}
		var line bytes.Buffer
		if err := binary.Write(&line, binary.LittleEndian, ids); err != nil {
			return err
		}
		if _, err := file.Write(line.Bytes()); err != nil {
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
		env := append(os.Environ(), childDriver+"="+target.Driver, childDSN+"="+target.DSN, childDialect+"="+string(dialectOf(target)))
		left := make(chan string, kills)
		for i := range kills {
			left <- filepath.Join(dir, strconv.Itoa(i))
		}
		close(left)
		var wg sync.WaitGroup
		for range side {
			wg.Go(func() {
				for file := range left {
					if err := killOne(append(slices.Clone(env), childFile+"="+file), file); err != nil {
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
func killOne(env []string, file string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self)
	child.Env = env
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
