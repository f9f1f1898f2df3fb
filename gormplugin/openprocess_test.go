package gormplugin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// writerVariable makes TestWriterProcess a process that writes rows; it holds a testdb.Target.
const writerVariable = "SNOWFLAKE_GORMPLUGIN_WRITER"

// entry is a row of a writer: the n-th of the process.
type entry struct {
	gormplugin.Model
	PID int
	N   int
}

const (
	writerRows  = 500
	writerBatch = 50
)

// TestWriterProcess is no test: TestProcessesThatAreKilledRepeatNoKey starts it in processes of its own.
func TestWriterProcess(t *testing.T) {
	text, ok := os.LookupEnv(writerVariable)
	if !ok {
		t.Skip("is run in processes of its own")
	}
	if err := write(text); err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	os.Exit(0)
}

// write is what a small program does with Open. It tells what has come into the database for sure.
func write(text string) error {
	var target testdb.Target
	if err := json.Unmarshal([]byte(text), &target); err != nil {
		return err
	}
	ctx := context.Background()
	db, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	keys, err := gormplugin.Open(ctx, db)
	if err != nil {
		return err
	}
	fmt.Println("worker", keys.Lease().Status().Worker, keys.Lease().Status().Epoch)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until all are there
	for n := 0; n < writerRows; n += writerBatch {
		entries := make([]entry, writerBatch)
		for i := range entries {
			entries[i] = entry{PID: os.Getpid(), N: n + i}
		}
		if err := db.Create(&entries).Error; err != nil {
			return err
		}
		var line strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&line, " %d", e.ID)
		}
		fmt.Printf("rows%s\n", &line)
	}
	if err := keys.Close(ctx); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

// writer is a process of TestWriterProcess.
type writer struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready chan struct{} // it has a worker
	ended chan struct{}

	mu     sync.Mutex
	worker string // and its epoch
	ids    []snowflake.ID
	done   bool
	err    string
}

func startWriter(t *testing.T, target testdb.Target) *writer {
	t.Helper()
	text, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{
		cmd:   exec.Command(self, "-test.run=^TestWriterProcess$"),
		ready: make(chan struct{}), ended: make(chan struct{}),
	}
	w.cmd.Env = append(os.Environ(), writerVariable+"="+string(text))
	w.cmd.Stderr = os.Stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		w.read(stdout)
		_ = w.cmd.Wait() // what it has said counts
		close(w.ended)
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // most have ended
		<-w.ended
	})
	return w
}

func (w *writer) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // what has no end was cut off by the kill
			return
		}
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		w.mu.Lock()
		switch kind {
		case "worker":
			w.worker = rest
			close(w.ready)
		case "rows":
			for text := range strings.FieldsSeq(rest) {
				id, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					w.err = line
				}
				w.ids = append(w.ids, snowflake.ID(id))
			}
		case "done":
			w.done = true
		default:
			w.err = line
		}
		w.mu.Unlock()
	}
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

// wait returns when the channel is closed, or the process has ended.
func (w *writer) wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-w.ended:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// TestProcessesThatAreKilledRepeatNoKey runs six processes at once on one empty database, of which half are killed
// while they write, and replaced.
func TestProcessesThatAreKilledRepeatNoKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		const count = 6
		h := openHandle(t, target.Dialector(), gorm.Config{})
		h.migrate(t, &entry{})
		writers := make([]*writer, count)
		for i := range writers {
			writers[i] = startWriter(t, target)
		}
		for _, w := range writers {
			w.wait(t, "a worker", w.ready)
		}
		workers := map[string]bool{}
		for _, w := range writers {
			workers[w.worker] = true
			_ = w.stdin.Close() // begin
		}
		equal(t, "workers at the same time", len(workers), count)
		for _, w := range writers[:count/2] {
			eventually(t, "some rows", func() bool { return w.count() >= writerBatch*(1+rand.IntN(3)) || w.isEnded() })
			if err := w.cmd.Process.Kill(); err != nil {
				t.Logf("too late to kill: %v", err)
			}
			<-w.ended
			next := startWriter(t, target)
			_ = next.stdin.Close()
			writers = append(writers, next)
		}
		told := map[snowflake.ID]bool{}
		done := 0
		for i, w := range writers {
			w.wait(t, "the end", w.ended)
			if w.err != "" {
				t.Errorf("process %d: %s", i, w.err)
			}
			if w.done {
				done++
				equal(t, "rows that a whole process has told of", len(w.ids), writerRows)
			}
			for _, id := range w.ids {
				if told[id] {
					t.Errorf("two rows have the key %d", id)
				}
				told[id] = true
			}
		}
		if done < count {
			t.Errorf("%d processes wrote all, want %d at least", done, count)
		}
		var rows []entry
		must(t, h.Find(&rows))
		places := map[[2]int]bool{}
		for _, row := range rows {
			delete(told, row.ID)
			places[[2]int{row.PID, row.N}] = true
		}
		equal(t, "rows that are missing", len(told), 0)
		equal(t, "different rows", len(places), len(rows))
		t.Logf("%d rows of %d processes, %d killed on the way", len(rows), len(writers), len(writers)-done)
	})
}

func (w *writer) isEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}
