package attempt_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
)

const length = time.Second // of a call

// server takes its time for connections.
type server struct {
	takes          time.Duration
	opened, closed int
}

func (s *server) open(ctx context.Context) (io.Closer, error) {
	s.opened++
	select {
	case <-time.After(s.takes):
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *server) Close() error {
	s.closed++
	return nil
}

// call returns whether a call has a connection, and how much time it has from then on.
func call(t *testing.T, calls *attempt.Calls, s *server, idle bool) (has bool, left time.Duration) {
	t.Helper()
	ctx, cancel := calls.Begin(t.Context(), length)
	defer cancel()
	ctx, _, err := attempt.Connect(ctx, idle, s.open)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return false, 0
	}
	deadline, _ := ctx.Deadline()
	return attempt.Conn(ctx) != nil, time.Until(deadline)
}

func TestAConnectionOutlivesTheCallThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		calls, s := &attempt.Calls{Life: life}, &server{takes: length * 5 / 2}
		for n := range 3 {
			if has, left := call(t, calls, s, false); has != (n == 2) || has && left != length {
				t.Errorf("call %d: connection %v, and then %v", n, has, left)
			}
		}
		if s.opened != 1 || s.closed != 0 {
			t.Errorf("%+v, want one connection, which the call has", s)
		}

		// A server that never answers is tried again, in one place.
		s.takes = time.Hour
		for range 12 {
			call(t, calls, s, false)
		}
		synctest.Wait()
		if s.opened != 1+3 {
			t.Errorf("%d connections were tried in 12 s, want a new one each 5 s", s.opened-1)
		}
	})
}

// The bubble of the test can't end before its goroutines.
func TestWhatNoCallTakesIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		open, ends bool // it is open, and then the lease ends, or the pool has an idle connection
		closed     int
	}{
		"the lease ends while it is opened":           {false, true, 0},
		"the lease ends when it is open":              {true, true, 1},
		"the pool has another one while it is opened": {false, false, 0},
		"the pool has another one when it is open":    {true, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				life, end := context.WithCancel(t.Context())
				defer end()
				calls, s := &attempt.Calls{Life: life}, &server{takes: length * 3 / 2}
				if has, _ := call(t, calls, s, false); has {
					t.Error("a connection was there too early")
				}
				if test.open {
					time.Sleep(length)
				}
				if test.ends {
					end()
				} else {
					call(t, calls, s, true)
				}
				synctest.Wait()
				if s.opened != 1 || s.closed != test.closed {
					t.Errorf("%+v, want %d closed", s, test.closed)
				}

				end()
				if has, left := call(t, calls, s, false); has || left != length || s.opened > 1 {
					t.Errorf("a call after the end of the lease: connection %v, %v left, %+v", has, left, s)
				}
			})
		})
	}
}
