package redislease

import (
	"context"
	_ "embed" // for the scripts
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var (
	//go:embed lua/row.lua
	rowLua string
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/extend.lua
	extendLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/list.lua
	listLua string

	takeScript    = redis.NewScript(rowLua + takeLua)
	extendScript  = redis.NewScript(rowLua + extendLua)
	releaseScript = redis.NewScript(rowLua + releaseLua)
	listScript    = redis.NewScript(rowLua + listLua)
)

// key returns the key of a namespace's hash.
func (s *Store) key(namespace string) string { return s.prefix + "{" + namespace + "}" }

// call runs a script, by its hash or, if Redis does not have it yet, by its text. It returns the first word of the
// reply, and the rest.
func (s *Store) call(ctx context.Context, script *redis.Script, namespace string, args ...any) (string, []any, error) {
	var reply []any
	err := await(ctx, func() (err error) {
		reply, err = script.Run(ctx, s.client, []string{s.key(namespace)}, args...).Slice()
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("redislease: key %q: %w", s.key(namespace), err)
	}

	var word string
	if len(reply) > 0 {
		word, _ = reply[0].(string)
	}

	switch {
	case word == "":
		return "", nil, s.unexpected(namespace, reply)
	case word == "protocol" && len(reply) == 2:
		return "", nil, &lease.VersionError{Namespace: namespace, Version: fmt.Sprint(reply[1])}
	}
	return word, reply[1:], nil
}

// claim runs a script whose arguments begin with a claim, and returns lease.ErrLost if the row has another epoch or
// token.
func (s *Store) claim(ctx context.Context, script *redis.Script, c leasestore.Claim, args ...any) ([]any, error) {
	args = append([]any{digits(c.Worker), digits(c.Epoch), c.Token, c.Next}, args...)
	word, reply, err := s.call(ctx, script, c.Namespace, args...)
	if err == nil && word == "lost" {
		err = fmt.Errorf("%w: worker %d of namespace %q is not held with epoch %d any more",
			lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
	}
	return reply, err
}

func (s *Store) unexpected(namespace string, reply any) error {
	return fmt.Errorf("redislease: key %q: unexpected reply %v", s.key(namespace), reply)
}

func (s *Store) corrupt(namespace string, field any) error {
	return fmt.Errorf("redislease: key %q: the field %q is not a row of a lease", s.key(namespace), field)
}

// await returns when the call or the context ends. While a client of go-redis reads from a server that does not answer,
// it uses its own timeouts, unless ContextTimeoutEnabled is set. A later reply counts as lost: what the call has
// written may be read only if await returns its error.
func await(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// digits returns a number as the scripts compare it: as text, since numbers of Lua are not exact above 2^53.
func digits(n int64) string { return fmt.Sprintf("%019d", n) }

// milliseconds returns a duration for the scripts, rounded up.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(int64((d-1)/time.Millisecond)+1, 10)
}

// readTime returns Redis's time, with which the reply begins: seconds and microseconds.
func (s *Store) readTime(namespace string, reply []any) (time.Time, error) {
	n, err := s.numbers(namespace, reply, 2)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(n[0], n[1]*1000), nil
}

// numbers returns the n integers that a reply begins with.
func (s *Store) numbers(namespace string, reply []any, n int) ([]int64, error) {
	found := make([]int64, n)
	for i := range found {
		var text string
		if i < len(reply) {
			text, _ = reply[i].(string)
		}
		var err error
		if found[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, s.unexpected(namespace, reply)
		}
	}
	return found, nil
}
