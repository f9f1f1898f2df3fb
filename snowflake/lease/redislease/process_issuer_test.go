package redislease_test

import (
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

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// orderVariable makes the test binary an issuer; it holds an order.
const orderVariable = "SNOWFLAKE_REDISLEASE_ISSUER"

// order tells an issuer what to do.
type order struct {
	Addr, Prefix string
	First, Last  int64 // the workers to choose from
	Window       time.Duration
	Gate         bool // begin when a byte comes in
	Limit        int  // stop after so many IDs and keep the worker; 0 is no limit
}

// note is a line on the standard error of an issuer: an event of its lease, or
// one of the kinds below.
type note struct {
	Kind    string
	Worker  int64
	Epoch   int64
	Horizon int64 // in ticks
	Err     string
}

const (
	noteReady  = "ready"   // waits at the gate
	noteNoOpen = "no open" // Open has failed and is tried again
	noteRefuse = "refuse"  // a call of the generator has failed: the end
)

const idBytes = 8

// silent keeps what go-redis says about connections off the standard error, which
// is for notes.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// issuer is the program: it writes IDs, 8 bytes each, to the standard output
// until the standard input ends.
type issuer struct {
	order
	mu    sync.Mutex
	notes *json.Encoder
}

// issue returns the exit code: 0 only if every call has succeeded.
func issue(text string) int {
	redis.SetLogger(silent{})
	i := &issuer{notes: json.NewEncoder(os.Stderr)}
	err := json.Unmarshal([]byte(text), &i.order)
	if err == nil {
		err = i.run()
	}
	if err != nil {
		i.note(note{Kind: noteRefuse}, err)
		return 3
	}
	return 0
}

func (i *issuer) note(n note, err error) {
	if err != nil {
		n.Err = err.Error()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = i.notes.Encode(n) // the test may be gone
}

func (i *issuer) run() error {
	if i.Gate {
		i.note(note{Kind: noteReady}, nil)
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	l, err := i.lease(ctx)
	if err == nil {
		if err = i.write(ctx, l.Generator()); errors.Is(err, context.Canceled) {
			closing, stop := context.WithTimeout(context.Background(), 10*time.Second)
			defer stop()
			return l.Close(closing)
		}
	}
	return err
}

// lease opens the lease, again and again while all workers are held, as a service
// that is restarted does.
func (i *issuer) lease(ctx context.Context) (*lease.Lease, error) {
	client := redis.NewClient(&redis.Options{Addr: i.Addr})
	store, err := redislease.New(client, redislease.WithPrefix(i.Prefix))
	if err != nil {
		return nil, err
	}
	layout := snowflake.Default()
	for {
		l, err := lease.Open(ctx, store,
			lease.WithGenerator(snowflake.WithLayout(layout)),
			lease.WithWorkers(i.First, i.Last),
			lease.WithWindow(i.Window),
			lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithHook(func(e lease.Event) {
				n := note{Kind: string(e.Kind), Worker: e.Worker, Epoch: e.Epoch}
				if !e.Horizon.IsZero() {
					n.Horizon = int64(e.Horizon.Sub(layout.Epoch()) / layout.Tick())
				}
				i.note(n, e.Err)
			}))
		if err == nil {
			return l, nil
		}
		for _, final := range []error{ctx.Err(), lease.ErrOption, lease.ErrLayout, lease.ErrClockSkew, lease.ErrBehindHorizon} {
			if final != nil && errors.Is(err, final) {
				return nil, err
			}
		}
		i.note(note{Kind: noteNoOpen}, err)
		time.Sleep(rand.N(20 * time.Millisecond))
	}
}

// write passes each handful of IDs on at once: what a kill finds in a buffer, the
// test would never see.
func (i *issuer) write(ctx context.Context, g *snowflake.Generator) error {
	var text []byte
	for n := 0; i.Limit == 0 || n < i.Limit; {
		text = text[:0]
		for range 1 + rand.N(64) {
			id, err := g.NextContext(ctx)
			if err != nil {
				_, _ = os.Stdout.Write(text)
				return err
			}
			text = binary.LittleEndian.AppendUint64(text, uint64(id))
			if n++; n == i.Limit {
				break
			}
		}
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}
