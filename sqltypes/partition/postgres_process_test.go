package partition_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

const (
	processVariable = "SNOWFLAKE_PARTITION_PROCESS" // makes TestPostgresProcess a process; it holds a job
	roundsVariable  = "SNOWFLAKE_PARTITION_ROUNDS"  // the rounds of TestPostgresProcessesThatAreKilled
)

// job is what a process does.
type job struct {
	Target        testdb.Target
	Mode          string // how partitions are retired
	Retain, Ahead int
	Offset        int    // of the zone
	Stop          string // on MariaDB, it waits before it sends a statement with this text
	Steps         int    // the mode adopt waits for its end after this step; 0: it does not
}

var modes = []string{"drop", "concurrently", "archive", "keep", "archive concurrently"}

func (j job) set() (*partition.Set, *sql.DB, error) {
	db, err := sql.Open(j.Target.Driver, j.Target.DSN)
	dialect, stall := sqldb.Postgres, time.Minute
	if j.Stop != "" {
		db, err = j.openStopping()
		dialect, stall = sqldb.MySQL, 2*time.Second
	}
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(2)
	options := []partition.Option{
		partition.WithZone(time.FixedZone("noon", j.Offset)),
		partition.WithLockTimeout(50 * time.Millisecond), partition.WithPatience(5 * time.Minute),
		partition.WithStalls(stall, time.Minute),
		partition.WithLogger(slog.New(slog.NewTextHandler(&stopAfter{j.Steps}, nil))),
	}
	if j.Mode != "adopt" {
		options = append(options, partition.WithRetain(j.Retain), partition.WithAhead(j.Ahead),
			partition.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if strings.Contains(j.Mode, "concurrently") {
		options = append(options, partition.WithDetachConcurrently())
	}
	if strings.Contains(j.Mode, "archive") {
		options = append(options, partition.WithArchive(func(ctx context.Context, table string) error {
			_, err := db.ExecContext(ctx, "INSERT INTO archive SELECT id FROM "+table+" ON CONFLICT DO NOTHING")
			return err
		}))
	}
	if j.Mode == "keep" {
		options = append(options, partition.WithKeep(keepAsOld))
	}
	s, err := partition.New(dialect, "events", partition.Day, options...)
	return s, db, err
}

// TestPostgresProcess is not a test: TestPostgresProcessesThatAreKilled starts it in its own processes.
func TestPostgresProcess(t *testing.T) {
	text, ok := os.LookupEnv(processVariable)
	if !ok {
		t.Skip("is run in processes of its own")
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	fmt.Println("done")
	os.Exit(0)
}

func (j job) run() error {
	s, db, err := j.set()
	if err != nil {
		return err
	}
	if err := db.Ping(); err != nil {
		return err
	}
	switch {
	case j.Mode == "adopt":
		fmt.Println("started")
		_, err = s.Adopt(context.Background(), db)
		return err
	case j.Stop == "":
		j.wait("ready")
	}
	_, err = s.Maintain(context.Background(), db)
	return err
}

// stopAfter is the output of the log of a process. It never returns from the line after which the process is to wait.
type stopAfter struct{ lines int }

func (s *stopAfter) Write(text []byte) (int, error) {
	n, err := os.Stdout.Write(text)
	if s.lines--; s.lines == 0 {
		select {}
	}
	return n, err
}

// wait says that the process waits until its standard input ends.
func (job) wait(text string) {
	fmt.Println(text)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// process is a running TestPostgresProcess.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func startProcess(t *testing.T, j job) *process {
	t.Helper()
	_, j.Offset = noon.Zone()
	text, err := json.Marshal(j)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPostgresProcess$")
	cmd.Env = append(os.Environ(), processVariable+"="+string(text))
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(err, inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, stdin, bufio.NewReader(stdout)}
}

// line returns the next line that the process has written.
func (p *process) line() string {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "ended"
	}
	return strings.TrimSpace(line)
}

// Eight processes maintain one table at the same time, in each way, and many are killed within. The others get no error, no
// partition is missing or there twice, and no row is lost.
func TestPostgresProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	rounds, processes := len(modes), 8
	if text := os.Getenv(roundsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	} else if testing.Short() {
		t.Skip("starts many processes")
	}
	const perRound, perDay = 4, 2
	e := onPostgres(t, eventsTable+";\nCREATE TABLE archive (id bigint PRIMARY KEY)")
	oldest := -perRound*rounds - 2
	e.maintain(e.set(partition.WithStart(day(oldest))))
	e.insert(day(oldest), day(0), 24*time.Hour/perDay)

	// Meanwhile somebody writes.
	ctx, cancel := context.WithCancel(t.Context())
	inserted := 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for ctx.Err() == nil {
			id := int64(idAt(noon)) + rand.Int64N(int64(idAt(day(1))-idAt(noon)))
			if _, err := e.ExecContext(ctx, "INSERT INTO events (id) VALUES ($1)", id); err == nil {
				inserted++
			} else if ctx.Err() == nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	defer writer.Wait()
	defer cancel()

	archived, kept, killed := 0, 0, 0
	for round := range rounds {
		j := job{Target: e.target, Mode: modes[round%len(modes)], Retain: max(perRound*(rounds-round-1), 1), Ahead: 3 + round}
		dropped := perDay * (-oldest - j.Retain)
		oldest = -j.Retain
		killed += e.round(t, j, processes)
		if strings.Contains(j.Mode, "archive") {
			// A killed process may leave the archiving of a table to the next call.
			_, j.Offset = noon.Zone()
			s, db, err := j.set()
			e.must(err)
			e.maintain(s)
			e.must(db.Close())
			archived += dropped
		}
		if j.Mode == "keep" {
			kept += dropped / perDay
		}
		e.want(-j.Retain, j.Ahead)
		e.rows("archive", archived)
		e.counts(perDay*j.Retain, "SELECT count(*) FROM events WHERE id < $1", idAt(noon))
		if tables := e.loose(); len(tables) != 1+kept || t.Failed() {
			t.Fatalf("%s: the tables are %q, want archive and %d others", j.Mode, tables, kept)
		}
	}
	cancel()
	writer.Wait()
	if n := e.count("SELECT count(*) FROM events WHERE id >= $1", idAt(noon)); n < inserted {
		t.Errorf("%d rows of the writer, want %d", n, inserted)
	}
	t.Logf("%d rounds of %d processes, %d of them killed; %d rows written meanwhile", rounds, processes, killed, inserted)
}

// round lets processes maintain the table, kills half of them at some time, and returns how many that stopped.
func (e *events) round(t *testing.T, j job, count int) (killed int) {
	t.Helper()
	var all []*process
	for range count {
		all = append(all, startProcess(t, j))
	}
	for _, p := range all {
		if got := p.line(); got != "ready" {
			t.Errorf("%s: a process says %q", j.Mode, got)
		}
	}
	for _, p := range all {
		_ = p.stdin.Close() // begin
	}
	victims := slices.Clone(all[:count/2])
	for _, p := range victims {
		time.Sleep(rand.N(30 * time.Millisecond))
		_ = p.cmd.Process.Kill() // some have ended
	}
	for i, p := range all {
		got := p.line()
		_ = p.cmd.Wait() // the line says how it ended
		if got == "ended" && i < count/2 {
			killed++
		} else if got != "done" {
			t.Errorf("%s: a process says %q", j.Mode, got)
		}
	}
	return killed
}
