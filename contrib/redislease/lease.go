package redislease

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// After a lost race Acquire chooses among 2 to the power of doublings times as many workers, and it gives up after so
// many races that something must be wrong.
const (
	doublings       = 4
	acquireAttempts = 100
)

// Acquire implements [leasestore.Store], except that after conflicts with other processes it takes one of the next
// workers instead of the next, and raises the horizon if [WithGuard] is used. Among workers with a horizon above the
// tick it takes the one with the lowest horizon. Each call checks whether Redis would evict the keys. If so it returns
// lease.ErrOption or, if an earlier call has found that Redis would not, a Grant.Warning.
func (s *Store) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}
	start, err := s.start(r)
	if err != nil {
		return leasestore.Grant{}, err
	}
	warning, err := s.checkEviction(ctx)
	if err != nil {
		return leasestore.Grant{}, err
	}

	for lost := range acquireAttempts {
		grant, ok, err := s.tryAcquire(ctx, r, lost)
		if err != nil {
			return leasestore.Grant{}, err
		}
		if ok {
			grant.Horizon, grant.Warning = max(grant.Horizon, start), warning
			return grant, nil
		}
	}

	return leasestore.Grant{}, fmt.Errorf(
		"redislease: key %q: others have changed it %d times between a read and a write",
		s.key(r.Namespace), acquireAttempts)
}

// tryAcquire reads the namespace and takes the worker whose turn it is, or returns false if another caller was faster.
func (s *Store) tryAcquire(ctx context.Context, r leasestore.Request, lost int) (leasestore.Grant, bool, error) {
	found, err := s.read(ctx, r.Namespace)
	if err != nil {
		return leasestore.Grant{}, false, err
	}
	if err = found.check(r); err != nil {
		return leasestore.Grant{}, false, err
	}
	rows, _, err := s.rows(found)
	if err != nil {
		return leasestore.Grant{}, false, err
	}

	if own, ok := order.Own(rows, r.Token); ok { // the reply to an earlier call was lost
		claim := leasestore.Claim{Namespace: r.Namespace, Worker: own.Worker, Epoch: own.Epoch, Token: r.Token}
		return leasestore.Grant{Claim: claim, Horizon: own.Horizon, Now: found.now}, true, nil
	}

	candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)
	next, ok := candidates.Take(lost * doublings)
	if !ok {
		return leasestore.Grant{}, false, &lease.NoWorkerError{
			Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: candidates.Wait(found.now),
		}
	}
	return s.take(ctx, r, found, next)
}

// check compares the request with the layout and the protocol of the namespace.
func (v snapshot) check(r leasestore.Request) error {
	if version, ok := v.fields[protocolField]; ok {
		return &lease.VersionError{Namespace: r.Namespace, Version: version}
	}
	if layout, ok := v.fields[layoutField]; ok && layout != r.Layout {
		return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, layout, r.Layout)
	}
	return nil
}

// take takes the worker if its row and the layout are as they were read, and returns false if not.
func (s *Store) take(
	ctx context.Context, r leasestore.Request, found snapshot, next order.Row,
) (leasestore.Grant, bool, error) {
	if next.Epoch == math.MaxInt64 {
		return leasestore.Grant{}, false, s.corrupt(r.Namespace, digits(next.Worker))
	}
	expires := max(0, next.FreeFrom.UnixMilli()) // 0 for a worker that was never taken
	holder, _ := json.Marshal(r.Holder)          // strings never fail

	taken, err := s.call(ctx, "take", r.Namespace, found.fields[layoutField], r.Layout,
		digits(next.Worker), digits(next.Epoch), digits(expires), digits(next.Epoch+1),
		r.Token, milliseconds(r.TTL), holder)
	if err != nil || taken.word == "changed" {
		return leasestore.Grant{}, false, err
	}

	horizon, err := s.number(r.Namespace, taken.value)
	if err != nil {
		return leasestore.Grant{}, false, err
	}
	claim := leasestore.Claim{Namespace: r.Namespace, Worker: next.Worker, Epoch: next.Epoch + 1, Token: r.Token}
	return leasestore.Grant{Claim: claim, Horizon: horizon, Now: taken.now}, true, nil
}

// start returns the first tick that the guard allows.
func (s *Store) start(r leasestore.Request) (int64, error) {
	if s.guard == 0 {
		return 0, nil
	}
	layout, err := snowflake.ParseLayout(r.Layout)
	if err != nil {
		return 0, fmt.Errorf("%w: the guard needs the length of a tick: %w", lease.ErrOption, err)
	}
	ticks := int64((s.guard-1)/layout.Tick()) + 1
	if r.Tick > math.MaxInt64-ticks {
		return math.MaxInt64, nil
	}
	return r.Tick + ticks, nil
}

// Extend implements [leasestore.Store], except that with [WithGuard] it returns lease.ErrLost after the expiry.
func (s *Store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	isGuarded := s.guard > 0 // which the client writes as 1 or 0
	extended, err := s.claim(ctx, "extend", c, digits(max(0, horizon)), milliseconds(ttl), isGuarded)
	return extended.now, err
}

// Release implements [leasestore.Store].
func (s *Store) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	_, err := s.claim(ctx, "release", c, digits(max(0, horizon)))
	return err
}

// List implements [leasestore.Store]. For "" it reads all keys in Redis with SCAN, in many small steps, so that no list
// of the namespaces has to be kept. A namespace that is first used meanwhile may be missing.
func (s *Store) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	namespaces := []string{namespace}
	if namespace == "" {
		var err error
		if namespaces, err = s.namespaces(ctx); err != nil {
			return nil, err
		}
	}

	var all []leasestore.Entry
	for _, namespace := range namespaces {
		entries, err := s.entries(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}

	return all, nil
}

// entries returns the rows of a namespace, in order.
func (s *Store) entries(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	found, err := s.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	rows, holders, err := s.rows(found)
	if err != nil {
		return nil, err
	}

	var entries []leasestore.Entry
	for i, r := range rows {
		var holder leasestore.Holder
		if err := json.Unmarshal([]byte(holders[i]), &holder); err != nil {
			return nil, s.corrupt(namespace, digits(r.Worker))
		}
		entries = append(entries, leasestore.Entry{
			Claim:  leasestore.Claim{Namespace: namespace, Worker: r.Worker, Epoch: r.Epoch},
			Layout: found.fields[layoutField], Horizon: r.Horizon, Expires: r.FreeFrom, Held: !r.Free, Holder: holder,
		})
	}
	return entries, nil
}

// The fields of a hash that are no worker's.
const (
	layoutField   = "layout"
	protocolField = "protocol"
)

// snapshot is what Redis had of a namespace at one time.
type snapshot struct {
	namespace string
	fields    map[string]string
	now       time.Time // of Redis
}

func (s *Store) read(ctx context.Context, namespace string) (snapshot, error) {
	listed, err := s.call(ctx, "list", namespace)
	if err != nil {
		return snapshot{}, err
	}

	fields := map[string]string{}
	hash, _ := listed.value.([]any)
	for pair := range slices.Chunk(hash, 2) {
		fields[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
	}
	return snapshot{namespace: namespace, fields: fields, now: listed.now}, nil
}

// rows returns the rows of a namespace in order, and the holder of each as JSON.
func (s *Store) rows(from snapshot) (rows []order.Row, holders []string, err error) {
	for _, field := range slices.Sorted(maps.Keys(from.fields)) {
		if field == layoutField || field == protocolField {
			continue
		}
		row, holder, ok := parseRow(field, from.fields[field], from.now)
		if !ok {
			return nil, nil, s.corrupt(from.namespace, field)
		}
		rows, holders = append(rows, row), append(holders, holder)
	}
	return rows, holders, nil
}

// parseRow reads a row as lease.lua writes it: the epoch, the horizon, the expiry, the token and the holder.
func parseRow(field, text string, now time.Time) (row order.Row, holder string, ok bool) {
	const numberLen, tokenLen = 19, 32
	columns := strings.SplitN(text, " ", 5)
	if len(columns) != 5 || len(columns[3]) != tokenLen {
		return row, "", false
	}

	var numbers [4]int64
	for i, column := range []string{field, columns[0], columns[1], columns[2]} {
		number, err := strconv.ParseInt(column, 10, 64)
		if err != nil || len(column) != numberLen {
			return row, "", false
		}
		numbers[i] = number
	}

	expires := time.UnixMilli(numbers[3])
	row = order.Row{
		Worker: numbers[0], Epoch: numbers[1], Horizon: numbers[2], Token: columns[3],
		Free: !now.Before(expires), FreeFrom: expires,
	}
	return row, columns[4], true
}

// namespaces returns those that have a key, in order.
func (s *Store) namespaces(ctx context.Context) ([]string, error) {
	pattern := globEscaper.Replace(s.key("")) // ends with "{}"
	pattern = strings.TrimSuffix(pattern, "}") + "*}"
	found := map[string]bool{}
	var mu sync.Mutex // the nodes of a cluster answer at the same time
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		keys := node.Scan(ctx, 0, pattern, 1000).Iterator()
		for keys.Next(ctx) {
			namespace := strings.TrimSuffix(strings.TrimPrefix(keys.Val(), s.prefix+"{"), "}")
			mu.Lock()
			found[namespace] = true
			mu.Unlock()
		}
		return keys.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("redislease: list the keys: %w", err)
	}

	return slices.Sorted(maps.Keys(found)), nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// eachNode calls f for each server that keys may be on.
func (s *Store) eachNode(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	return await(ctx, func() error {
		each := func(ctx context.Context, node *redis.Client) error { return f(ctx, node) }
		switch client := s.client.(type) {
		case *redis.ClusterClient:
			return client.ForEachMaster(ctx, each)
		case *redis.Ring:
			return client.ForEachShard(ctx, each)
		default:
			return f(ctx, client)
		}
	})
}
