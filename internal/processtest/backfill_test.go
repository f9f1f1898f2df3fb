package processtest

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
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
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// backfillVariable makes the test binary a backfiller; it holds a place.
const backfillVariable = "SNOWFLAKE_PROCESSTEST_BACKFILL"

const (
	backfillWorker = 63
	backfillBatch  = 20
)

// backfillLayout has 16 IDs a millisecond, so most rows get IDs of later ones, which only the stored IDs show.
var backfillLayout = snowflake.MustLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 6}, snowflake.Field{Name: "sequence", Bits: 4})

// backfillMain is for TestMain. In a backfiller it does not return.
func backfillMain() {
	if place, ok := os.LookupEnv(backfillVariable); ok {
		if err := backfill(context.Background(), parsePlace(place)); err != nil {
			fmt.Println(err)
			os.Exit(exitBroken)
		}
		os.Exit(exitDone)
	}
}

// backfill fills the rows without an ID in batches: each after a byte from the standard input as long as that is open.
// It writes a line for each batch.
func backfill(ctx context.Context, p place) error {
	store, _, err := p.open()
	if err != nil {
		return err
	}
	// With this window a store may take a minute to answer.
	l, err := lease.Open(ctx, store, lease.WithGenerator(snowflake.WithLayout(backfillLayout)), lease.WithWindow(lease.MaxWindow),
		lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	if err := l.Reserve(ctx, backfillWorker, "orders"); err != nil {
		return err
	}
	b, err := snowflake.NewBackfill(backfillWorker, snowflake.WithLayout(backfillLayout))
	if err != nil {
		return err
	}
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		return err
	}
	var last order
	err = db.QueryRowContext(ctx, `SELECT number, created, id FROM orders WHERE id IS NOT NULL ORDER BY created DESC, number DESC LIMIT 1`).
		Scan(&last.number, &last.created, &last.id)
	if err == nil {
		err = b.Resume(last.id, time.UnixMicro(last.created))
	} else if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	for in := bufio.NewReader(os.Stdin); err == nil; {
		_, _ = in.ReadByte() // the end is a yes
		var rows []order
		rows, err = readOrders(ctx, db, fmt.Sprintf("SELECT number, created, 0 FROM orders WHERE created > %d OR created = %d AND number > %d "+
			"ORDER BY created, number LIMIT %d", last.created, last.created, last.number, backfillBatch))
		if err != nil || len(rows) == 0 {
			return err
		}
		var cases strings.Builder
		for _, row := range rows {
			if row.id, err = b.Next(time.UnixMicro(row.created)); err != nil {
				return err
			}
			fmt.Fprintf(&cases, " WHEN %d THEN %d", row.number, row.id)
			last = row
		}
		_, err = db.ExecContext(ctx, fmt.Sprintf("UPDATE orders SET id = CASE number%s END WHERE number IN (%s)",
			cases.String(), numbers(rows)))
		fmt.Println("batch")
	}
	return err
}

type order struct {
	number, created int64 // created in microseconds since 1970
	id              snowflake.ID
}

func numbers(rows []order) string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = strconv.FormatInt(row.number, 10)
	}
	return strings.Join(all, ", ")
}

func readOrders(ctx context.Context, db *sql.DB, query string) (all []order, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.number, &o.created, &o.id); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, rows.Err()
}

// TestAKilledBackfillGoesOnWithTheSameIDs kills a process that fills a table, at random instants, and starts it again.
func TestAKilledBackfillGoesOnWithTheSameIDs(t *testing.T) {
	t.Parallel()
	const kills = 20
	eachDatabase(t, func(t *testing.T, p place) {
		ctx := t.Context()
		p.store(t) // creates the table of leases
		db, err := sql.Open(p.Driver, p.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		want := make([]order, (5*kills+10)*backfillBatch)
		at := time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC).UnixMicro()
		for i, number := range rand.Perm(len(want)) {
			want[i] = order{number: int64(number), created: at}
			if i < len(want)/3 || i > 2*len(want)/3 { // many of one time in between
				at += rand.Int64N(200)
			}
		}
		slices.SortFunc(want, func(a, b order) int { // of the same time, by the number
			if a.created != b.created {
				return int(a.created - b.created)
			}
			return int(a.number - b.number)
		})
		b, err := snowflake.NewBackfill(backfillWorker, snowflake.WithLayout(backfillLayout))
		if err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(want))
		for i := range want {
			if want[i].id, err = b.Next(time.UnixMicro(want[i].created)); err != nil {
				t.Fatal(err)
			}
			values[i] = fmt.Sprintf("(%d, %d)", want[i].number, want[i].created)
		}
		rand.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for _, statement := range []string{
			"CREATE TABLE orders (number bigint PRIMARY KEY, created bigint NOT NULL, id bigint UNIQUE)",
			"INSERT INTO orders (number, created) VALUES " + strings.Join(values, ", "),
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
		batches := 0
		for i := range kills {
			n, err := backfiller(t, p, 2+rand.IntN(4), i%5 == 4)
			if err != nil {
				t.Fatal(err)
			}
			batches += n
		}
		if _, err := backfiller(t, p, 0, false); err != nil {
			t.Fatal(err)
		}
		got, err := readOrders(ctx, db, "SELECT number, created, id FROM orders ORDER BY created, number")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the %d rows differ from those of an uninterrupted run, error %v", len(got), err)
		}
		t.Logf("%d rows, %d kills, %d batches of %d known to be stored between them", len(got), kills, batches, backfillBatch)
	})
}

// backfiller runs a process to the end, or if batches is not 0 for at most so many, and kills it in the last of them, just
// before or just after it, or early: while it starts.
func backfiller(t *testing.T, p place, batches int, early bool) (done int, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), backfillVariable+"="+p.String(), "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(stdout)
	if batches == 0 {
		_ = stdin.Close()
		for lines.Scan() {
			if lines.Text() != "batch" {
				err = errors.New(lines.Text())
			}
		}
		return 0, errors.Join(err, cmd.Wait())
	}
	if _, err = stdin.Write(make([]byte, batches)); err == nil && early {
		time.Sleep(rand.N(50 * time.Millisecond))
	} else {
		for done < batches-1 && lines.Scan() {
			if done++; lines.Text() != "batch" {
				err = errors.New(lines.Text())
			}
		}
		time.Sleep(rand.N(5 * time.Millisecond))
	}
	err = errors.Join(err, cmd.Process.Kill()) // fails if it has ended
	_, _ = io.Copy(io.Discard, stdout)
	_ = cmd.Wait() // killed
	return done, err
}

// TestABackfillBesideLiveProcessesRepeatsNoID makes IDs for the very times at which four processes, of which each is
// killed and followed by another, issue theirs.
func TestABackfillBesideLiveProcessesRepeatsNoID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		const reserved = 3
		ctx, store := t.Context(), p.store(t)
		l := openPatiently(t, func() (*lease.Lease, error) {
			return lease.Open(ctx, store, lease.WithWorkers(0, 5), lease.WithLogger(slog.New(slog.DiscardHandler)))
		})
		if err := l.Reserve(ctx, reserved, "orders"); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		b, err := snowflake.NewBackfill(reserved, snowflake.WithClock(lateClock{by: -time.Hour, since: time.Now()}))
		if err != nil {
			t.Fatal(err)
		}
		o := Order{Place: p.String(), First: 0, Last: 5, Window: 200 * time.Millisecond}
		old := &Process{Ended: make(chan struct{})}
		close(old.Ended)
		begin := time.Now()
		fill := func() {
			for range 20_000 {
				id, err := b.Next(time.Now())
				if err != nil {
					t.Fatal(err)
				}
				old.ids.add(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			}
		}
		all := []*Process{old}
		for range 4 {
			all = append(all, MustStart(t, o))
		}
		for i := 1; i <= 4; i++ {
			if err := all[i].AwaitID(); err != nil {
				t.Fatal(err)
			}
			fill()
			if err := all[i].Kill(); err != nil {
				t.Fatal(err)
			}
			all = append(all, MustStart(t, o))
		}
		for _, q := range all[5:] {
			if err := q.AwaitID(); err != nil {
				t.Fatal(err)
			}
		}
		Eventually(t, "an ID of a live process in a millisecond of the backfill", func() bool {
			fill()
			return mixed(all) > 0
		}, all[5:]...)
		for _, q := range all[5:] {
			if err := q.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		live := TakeCensus(all[1:])
		live.Check(t, store)
		for reign := range live.reigns {
			if reign[0] == reserved {
				t.Errorf("a process got the worker %d", reserved)
			}
		}
		// Of the census of all only what it has found counts, as the backfill has no horizon.
		both := TakeCensus(all)
		slices.SortFunc(both.spans, func(a, b span) int { return int(a.first - b.first) })
		for i, s := range both.spans[1:] {
			if before := both.spans[i]; s.first <= before.last {
				t.Fatalf("ID %d came twice: from process %d and process %d", s.first, before.by, s.by)
			}
		}
		if e := Entries(t, store)[reserved]; !e.Reserved() || e.Epoch != 1 || e.Horizon != 0 {
			t.Errorf("the reserved worker is %+v", e)
		}
		t.Logf("%d IDs of rows beside %d, in %d shared milliseconds, %v", old.ids.count, live.IDs, mixed(all), time.Since(begin))
	})
}

// mixed returns how often an ID of the first process is beside one of another process with the same tick.
func mixed(all []*Process) (n int) {
	var spans []span
	for by, p := range all {
		p.mu.Lock()
		for _, s := range p.ids.spans {
			s.by = by
			spans = append(spans, s)
		}
		p.mu.Unlock()
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.first - b.first) })
	for i, s := range spans[1:] {
		if before := spans[i]; (s.by == 0) != (before.by == 0) && tickOf(s.first) == tickOf(before.last) {
			n++
		}
	}
	return n
}
