package redislease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // this module exists to keep go-redis out of the core's

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// List implements [lease.Store]. For "" it reads all keys of Redis with SCAN, in many small steps, so that no list of
// the namespaces has to be kept. A namespace that is first used meanwhile may be missing.
func (s *Store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	namespaces := []string{namespace}
	if namespace == "" {
		var err error
		if namespaces, err = s.namespaces(ctx); err != nil {
			return nil, err
		}
	}
	var all []lease.Entry
	for _, namespace := range namespaces {
		entries, err := s.rows(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// rows returns the rows of a namespace, in order.
func (s *Store) rows(ctx context.Context, namespace string) ([]lease.Entry, error) {
	_, reply, err := s.call(ctx, listScript, namespace)
	if err != nil {
		return nil, err
	}
	now, err := s.numbers(namespace, reply, 1)
	if err != nil || len(reply) < 2 {
		return nil, s.unexpected(namespace, reply)
	}
	hash, _ := reply[1].([]any)
	var layout string
	var entries []lease.Entry
	for pair := range slices.Chunk(hash, 2) {
		field, value := fmt.Sprint(pair[0]), fmt.Sprint(pair[1])
		switch field {
		case "layout":
			layout = value
			continue
		case "protocol":
			continue
		}
		e, ok := entry(namespace, field, value, now[0])
		if !ok {
			return nil, s.corrupt(namespace, field)
		}
		entries = append(entries, e)
	}
	for i := range entries {
		entries[i].Layout = layout
	}
	slices.SortFunc(entries, func(a, b lease.Entry) int { return cmp.Compare(a.Worker, b.Worker) })
	return entries, nil
}

// entry reads a row as lua/row.lua writes it, without the token.
func entry(namespace, field, text string, now int64) (lease.Entry, bool) {
	columns := strings.SplitN(text, " ", 5)
	if len(columns) != 5 || len(columns[3]) != 32 {
		return lease.Entry{}, false
	}
	var n [4]int64
	for i, column := range []string{field, columns[0], columns[1], columns[2]} {
		var err error
		if n[i], err = strconv.ParseInt(column, 10, 64); err != nil || len(column) != 19 {
			return lease.Entry{}, false
		}
	}
	var holder lease.Holder
	err := json.Unmarshal([]byte(columns[4]), &holder)
	return lease.Entry{
		Claim:   lease.Claim{Namespace: namespace, Worker: n[0], Epoch: n[1]},
		Horizon: n[2], Expires: time.UnixMilli(n[3]), Held: now < n[3], Holder: holder,
	}, err == nil
}

// namespaces returns those that have a key, in order.
func (s *Store) namespaces(ctx context.Context) ([]string, error) {
	pattern := globEscaper.Replace(s.key("")) // ends with "{}"
	pattern = strings.TrimSuffix(pattern, "}") + "*}"
	found := map[string]bool{}
	var mu sync.Mutex // the nodes of a cluster answer at the same time
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		for keys := node.Scan(ctx, 0, pattern, 1000).Iterator(); ; {
			if !keys.Next(ctx) {
				return keys.Err()
			}
			namespace := strings.TrimSuffix(strings.TrimPrefix(keys.Val(), s.prefix+"{"), "}")
			mu.Lock()
			found[namespace] = true
			mu.Unlock()
		}
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
