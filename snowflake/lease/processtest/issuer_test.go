package processtest_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	ossignal "os/signal" // signal is a function of these tests
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// orderVariable makes the test binary an issuer; it holds an order.
const orderVariable = "SNOWFLAKE_PROCESSTEST_ISSUER"

// order tells an issuer what to do.
type order struct {
	Place       place
	First, Last int64 // the workers to choose from
	Window      time.Duration
	StopOnLoss  bool
	Gate        bool // begin when a byte comes in
	Limit       int  // stop after so many IDs and keep the worker; 0 is no limit
}

// note is a line on the standard error of an issuer: an event of its lease, or
// one of the kinds below.
type note struct {
	Kind    string
	Worker  int64
	Epoch   int64
	Horizon int64 // in ticks
	Err     string
	Lost    bool // the error is ErrLost
}

const (
	noteReady  = "ready"   // waits at the gate
	noteNoOpen = "no open" // Open, or the migration, has failed and is tried again
	noteRefuse = "refuse"  // a call of the generator has failed: the end
)

// exits of an issuer
const (
	exitDone    = 0 // the standard input has ended, or SIGTERM came
	exitRefused = 3
	exitBroken  = 4
)

const idBytes = 8

// notes writes to the standard error.
type notes struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (n *notes) add(x note, err error) {
	if err != nil {
		x.Err, x.Lost = err.Error(), errors.Is(err, lease.ErrLost)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.out.Encode(x) // the test may be gone
}

// issue is the program of an issuer: it writes IDs, 8 bytes each, to the standard
// output until the standard input ends.
func issue(text string) int {
	out := &notes{out: json.NewEncoder(os.Stderr)}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error is for notes
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		out.add(note{Kind: noteRefuse}, err)
		return exitBroken
	}
	in := bufio.NewReader(os.Stdin)
	if o.Gate {
		out.add(note{Kind: noteReady}, nil)
		if _, err := in.ReadByte(); err != nil {
			return exitDone
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx, stop := ossignal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	l, err := o.lease(ctx, out)
	if err != nil {
		if ctx.Err() != nil {
			return exitDone
		}
		out.add(note{Kind: noteRefuse}, err)
		return exitBroken
	}
	if err := o.write(ctx, l.Generator()); err != nil && ctx.Err() == nil {
		out.add(note{Kind: noteRefuse}, err)
		return exitRefused
	}
	closing, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	if err := l.Close(closing); err != nil {
		out.add(note{Kind: noteRefuse}, err)
		return exitBroken
	}
	return exitDone
}

// lease opens the store and the lease, again and again while the database does
// not answer, as a service that is restarted does.
func (o order) lease(ctx context.Context, out *notes) (*lease.Lease, error) {
	store, _, err := o.Place.open()
	if err != nil {
		return nil, err
	}
	layout := snowflake.Default()
	for {
		err := o.migrate(ctx, store)
		if err == nil {
			var l *lease.Lease
			if l, err = lease.Open(ctx, store, o.options(layout, out)...); err == nil {
				return l, nil
			}
		}
		for _, final := range []error{ctx.Err(), lease.ErrOption, lease.ErrLayout, lease.ErrClockSkew, lease.ErrBehindHorizon} {
			if final != nil && errors.Is(err, final) {
				return nil, err
			}
		}
		out.add(note{Kind: noteNoOpen}, err)
		time.Sleep(rand.N(20 * time.Millisecond))
	}
}

// migrate does not wait for ever on a connection through which nothing comes.
func (o order) migrate(ctx context.Context, store lease.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return migrate(ctx, store)
}

func (o order) options(layout snowflake.Layout, out *notes) []lease.Option {
	opts := []lease.Option{
		lease.WithGenerator(snowflake.WithLayout(layout)),
		lease.WithWorkers(o.First, o.Last),
		lease.WithWindow(o.Window),
		lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithHook(func(e lease.Event) {
			x := note{Kind: string(e.Kind), Worker: e.Worker, Epoch: e.Epoch}
			if !e.Horizon.IsZero() {
				x.Horizon = int64(e.Horizon.Sub(layout.Epoch()) / layout.Tick())
			}
			out.add(x, e.Err)
		}),
	}
	if o.StopOnLoss {
		opts = append(opts, lease.StopOnLoss())
	}
	return opts
}

// write passes each handful of IDs on at once: what a kill finds in a buffer, the
// test would never see.
func (o order) write(ctx context.Context, g *snowflake.Generator) error {
	var text []byte
	for n := 0; ; {
		text = text[:0]
		for range 1 + rand.N(64) {
			if o.Limit > 0 && n == o.Limit {
				break
			}
			id, err := g.NextContext(ctx)
			if err != nil {
				_, _ = os.Stdout.Write(text)
				return err
			}
			text = binary.LittleEndian.AppendUint64(text, uint64(id))
			n++
		}
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
		if o.Limit > 0 && n == o.Limit {
			<-ctx.Done()
			return ctx.Err()
		}
	}
}
