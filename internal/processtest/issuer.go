package processtest

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// orderVariable makes the test binary an issuer; it holds an Order.
const orderVariable = "SNOWFLAKE_PROCESSTEST_ISSUER"

// Order tells an issuer what to do.
type Order struct {
	Place       string // where the store is, for the function given to Main
	First, Last int64  // the workers to choose from
	Window      time.Duration
	Begin       time.Time // when to open the lease; zero: at once

	MaxSkew time.Duration // 0: the default
	Behind  time.Duration // of the generator's clock
	Pace    time.Duration // between two handfuls of IDs

	Layout string // its text; empty: the default
}

// Note is a line on the standard error of an issuer: an event of its lease, or one of the kinds below.
type Note struct {
	Kind    lease.EventKind
	Worker  int64
	Epoch   int64
	Horizon int64 // in ticks
	Err     string
}

// Kinds of notes that are no events.
const (
	NotOpen   lease.EventKind = "no open"  // Open has failed and is tried again
	NotClosed lease.EventKind = "no close" // Close has failed and is tried again
	Refused   lease.EventKind = "refused"  // a call of the generator has failed: the end
)

// Exit codes of an issuer.
const (
	exitDone   = 0 // the standard input has ended
	exitBroken = 4
)

const idBytes = 8

// Main is for TestMain. In an issuer it does not return: open returns the store at a place, and if that has a method
// Migrate, it is called before each attempt to open a lease.
func Main(open func(place string) (leasestore.Store, error)) {
	text, ok := os.LookupEnv(orderVariable)
	if !ok {
		return
	}

	out := &notes{out: json.NewEncoder(os.Stderr)}
	var o Order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.issue(open, out)
	}
	if err != nil {
		out.add(Note{Kind: Refused}, err)
		os.Exit(exitBroken)
	}
	os.Exit(exitDone)
}

// notes writes to the standard error.
type notes struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (n *notes) add(x Note, err error) {
	if err != nil {
		x.Err = err.Error()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.out.Encode(x) // the test may have ended
}

// issue writes IDs, 8 bytes each, to the standard output until the standard input ends.
func (o Order) issue(open func(place string) (leasestore.Store, error), out *notes) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()

	time.Sleep(time.Until(o.Begin))
	l, err := o.lease(ctx, open, out)
	if err == nil {
		err = o.write(ctx, l.Generator())
	}
	switch {
	case ctx.Err() == nil:
		return err
	case l == nil:
		return nil
	}

	closing, done := context.WithTimeout(context.Background(), Patience)
	defer done()
	for err = l.Close(closing); err != nil && closing.Err() == nil; err = l.Close(closing) {
		out.add(Note{Kind: NotClosed}, err)
		time.Sleep(poll)
	}
	return err
}

// lease opens the store and the lease, again and again while the database does not answer, as a service that is
// restarted does.
func (o Order) lease(
	ctx context.Context, open func(string) (leasestore.Store, error), out *notes,
) (*lease.Lease, error) {
	store, err := open(o.Place)
	if err != nil {
		return nil, err
	}

	for {
		err := migrate(ctx, store, max(2*time.Second, o.Window))
		if err == nil {
			var l *lease.Lease
			if l, err = lease.Open(ctx, store, o.options(out)...); err == nil {
				return l, nil
			}
		}
		// ErrClockSkew is not final: on a busy machine the reading of the store's clock may be as old as that.
		for _, final := range []error{ctx.Err(), lease.ErrOption, lease.ErrLayout, lease.ErrBehindHorizon} {
			if final != nil && errors.Is(err, final) {
				return nil, err
			}
		}
		out.add(Note{Kind: NotOpen}, err)
		time.Sleep(rand.N(20 * time.Millisecond))
	}
}

// migrate creates the table if the store has one. It does not wait for ever for a connection that is stuck.
func migrate(ctx context.Context, store leasestore.Store, limit time.Duration) error {
	s, ok := store.(interface {
		Migrate(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.Migrate(ctx)
}

func (o Order) options(out *notes) []lease.Option {
	layout, _ := snowflake.ParseLayout(cmp.Or(o.Layout, "default")) // Open refuses the zero Layout
	generator := []snowflake.Option{snowflake.WithLayout(layout)}
	if o.Behind != 0 {
		generator = append(generator, snowflake.WithClock(testclock.New(-o.Behind)))
	}

	return []lease.Option{
		lease.WithGenerator(generator...),
		lease.WithWorkers(o.First, o.Last),
		lease.WithWindow(o.Window),
		lease.WithMaxSkew(cmp.Or(o.MaxSkew, lease.DefaultMaxSkew)),
		lease.WithPatience(Patience),
		lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithObserver(func(e lease.Event) {
			if e.Kind == lease.Called {
				return
			}
			x := Note{Kind: e.Kind, Worker: e.Worker, Epoch: e.Epoch}
			if !e.Horizon.IsZero() {
				x.Horizon = int64(e.Horizon.Sub(layout.Epoch()) / layout.Tick())
			}
			out.add(x, e.Err)
		}),
	}
}

// write writes a handful of IDs at a time: IDs that a kill finds in a buffer would never reach the test.
func (o Order) write(ctx context.Context, g *snowflake.Generator) error {
	var text []byte
	for {
		text = text[:0]
		for range 1 + rand.N(64) {
			id, err := g.NextContext(ctx)
			if err != nil {
				_, _ = os.Stdout.Write(text)
				return err
			}
			text = binary.LittleEndian.AppendUint64(text, uint64(id))
		}

		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}

		time.Sleep(o.Pace)
	}
}
