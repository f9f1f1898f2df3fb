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
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// processVariable makes TestProcess a process; it holds a job.
const processVariable = "SNOWFLAKE_PARTITION_PROCESS"

// job is what a process does.
type job struct {
	Target        testdb.Target
	Mode          string // how partitions are retired, or adopt
	Retain, Ahead int
	Offset        int // of the zone
	Steps         int // the mode adopt waits for its end after this step; 0: it does not
}

var modes = []string{"drop", "archive", "keep"}

func (j job) set(e *events) *partition.Set {
	options := []partition.Option{partition.WithPatience(5 * time.Minute)}
	if j.Mode == "adopt" {
		return e.set(append(options, partition.WithLogger(slog.New(slog.NewTextHandler(&stopAfter{j.Steps}, nil))))...)
	}

	options = append(options, partition.WithRetain(j.Retain), partition.WithAhead(j.Ahead))
	if j.Mode == "archive" {
		options = append(options, partition.WithArchive(func(ctx context.Context, table string) error {
			_, err := e.ExecContext(ctx, "INSERT INTO archive SELECT id FROM "+table+" ON CONFLICT DO NOTHING")
			return err
		}))
	}

	if j.Mode == "keep" {
		options = append(options, partition.WithKeep())
	}

	return e.set(options...)
}

// TestProcess is not a test: others start it in its own processes.
func TestProcess(t *testing.T) {
	text, ok := os.LookupEnv(processVariable)
	if !ok {
		return
	}

	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run(t)
	}

	if err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}

	fmt.Println("done")
	os.Exit(0)
}

func (j job) run(t *testing.T) (err error) {
	noon = noon.In(time.FixedZone("noon", j.Offset))
	e := &events{T: t, target: j.Target, mysql: j.Target.Driver == "mysql"}
	if e.DB, err = sql.Open(j.Target.Driver, j.Target.DSN); err != nil {
		return err
	}

	e.SetMaxOpenConns(2)
	if j.Mode == "adopt" {
		fmt.Println("started")
		_, err = j.set(e).Adopt(context.Background(), e.DB)
		return err
	}

	e.must(e.Ping())
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the standard input ends
	_, err = j.set(e).Maintain(context.Background(), e.DB)
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

// process is a running TestProcess.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func startProcess(t *testing.T, j job) *process {
	t.Helper()
	_, j.Offset = noon.Zone()
	text, err := json.Marshal(j)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
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
	rounds := len(modes)
	const processes, perRound, perDay = 8, 4, 2
	e := onPostgres(t, eventsTable+";\nCREATE TABLE archive (id bigint PRIMARY KEY)")
	oldest := -perRound*rounds - 2
	e.maintain(e.set(partition.WithStart(day(oldest))))
	e.insert(day(oldest), day(0), 24*time.Hour/perDay)

	archived, kept := 0, 0
	for round := range rounds {
		j := job{Target: e.target, Mode: modes[round%len(modes)], Retain: max(perRound*(rounds-round-1), 1), Ahead: 3 + round}
		dropped := perDay * (-oldest - j.Retain)
		oldest = -j.Retain
		e.round(t, j, processes)
		if j.Mode == "archive" {
			e.maintain(j.set(e)) // a killed process may leave the archiving of a table to the next call
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
}

// round lets processes maintain the table, and kills half of them at some time.
func (e *events) round(t *testing.T, j job, count int) {
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

	for _, p := range all[:count/2] {
		time.Sleep(rand.N(30 * time.Millisecond))
		_ = p.cmd.Process.Kill() // some have ended
	}

	for i, p := range all {
		got := p.line()
		_ = p.cmd.Wait() // the line says how it ended
		if wasKilled := got == "ended" && i < count/2; !wasKilled && got != "done" {
			t.Errorf("%s: a process says %q", j.Mode, got)
		}
	}
}

// A process that is killed leaves a state from which the next one continues, wherever it was.
func TestAdoptGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	var want []string
	phases := make(map[string]int) // what the killed process had done
	for i := range 9 {
		e := onPostgres(t, writtenTable+"INSERT INTO events VALUES (1);\nINSERT INTO lines VALUES (1, 1)")
		if i > 0 {
			j := job{Target: e.target, Mode: "adopt"}
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
			phases[fmt.Sprint(e.texts(`SELECT conname || convalidated FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
				AND conname IN ('sqlflake_adopt', 'lines_event_fkey') AND conparentid = 0
				UNION ALL SELECT 'partitions ' || count(*) FROM pg_class WHERE relispartition AND relnamespace = current_schema()::regnamespace ORDER BY 1`))]++
		}

		e.adopt(e.set())
		got := slices.Concat(e.describe(), e.partitions(), e.texts("SELECT id::text FROM events"))
		for j := range got {
			got[j] = strings.ReplaceAll(got[j], e.schema()+".", "")
		}

		if want == nil { // without a kill
			want = got
		}

		e.same(got, want...)
	}

	if len(phases) < 4 {
		t.Errorf("states of the killed processes %v: want several", phases)
	}
}

// Any number of processes may adopt the table: one does it, and the others find it done.
func TestAdoptByManyProcesses(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, writtenTable)
	done := make(chan []partition.Step)
	for range 6 {
		go func() {
			steps, err := e.set().Adopt(e.limit(), e.DB)
			e.ok(err)
			done <- steps
		}()
	}

	times := make(map[string]int)
	for range 6 {
		for _, step := range <-done {
			times[step.Partition+": "+step.Why]++
		}
	}

	for why, n := range times {
		if n != 1 || len(times) != 8 {
			t.Errorf("%s: %d times, %d steps, want 8", why, n, len(times))
		}
	}
}
