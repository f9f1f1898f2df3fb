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
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/segment"
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
	s, err := segment.Open(ctx, db, sqllease.Dialect(os.Getenv(childDialect)), "invoices", segment.WithBlock(5000))
	if err != nil {
		return err
	}
	for {
		ids := make([]snowflake.ID, 1+rand.IntN(500))
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
	const processes, wanted = 32, 1_000_000
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		if err := segment.Migrate(t.Context(), db, dialectOf(target)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		var killed atomic.Int64
		enough := func() bool {
			files, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is valid
			size := int64(0)
			for _, name := range files {
				if info, err := os.Stat(name); err == nil {
					size += info.Size()
				}
			}
			return size >= 8*wanted
		}
		var wg sync.WaitGroup
		for i := range processes {
			wg.Go(func() {
				for life := 0; !enough() && !t.Failed(); life++ {
					child := exec.CommandContext(t.Context(), os.Args[0])
					child.Env = append(os.Environ(), childDriver+"="+target.Driver, childDSN+"="+target.DSN,
						childDialect+"="+string(dialectOf(target)),
						childFile+"="+filepath.Join(dir, fmt.Sprintf("%d-%d", i, life)))
					var out bytes.Buffer
					child.Stderr = &out
					if err := child.Start(); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(100+rand.IntN(600)) * time.Millisecond)
					_ = child.Process.Kill()
					_ = child.Wait()
					if out.Len() > 0 {
						t.Errorf("a process failed: %s", out.String())
						return
					}
					killed.Add(1)
				}
			})
		}
		wg.Wait()
		seen := make(map[uint64]bool, 2*wanted)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for r := bytes.NewReader(file); ; {
				var n uint64
				if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
					if err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // returned as they are
						t.Fatal(err)
					}
					break
				}
				if n == 0 || seen[n] {
					t.Fatalf("%d came twice", n)
				}
				seen[n] = true
			}
		}
		t.Logf("%d numbers of %d killed processes", len(seen), killed.Load())
	})
}
