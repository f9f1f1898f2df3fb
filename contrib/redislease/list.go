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

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

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
	rows, err := s.rows(found)
	if err != nil {
		return nil, err
	}

	var entries []leasestore.Entry
	for _, r := range rows {
		var holder leasestore.Holder
		if err := json.Unmarshal([]byte(r.holder), &holder); err != nil {
			return nil, s.corrupt(namespace, digits(r.Worker))
		}
		entries = append(entries, leasestore.Entry{
			Claim:  leasestore.Claim{Namespace: namespace, Worker: r.Worker, Epoch: r.Epoch},
			Layout: found.fields[layoutField], Horizon: r.Horizon, Expires: r.FreeFrom, Held: !r.Free, Holder: holder,
		})
	}
	slices.SortFunc(entries, func(a, b leasestore.Entry) int { return cmp.Compare(a.Worker, b.Worker) })
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
	_, reply, err := s.call(ctx, listScript, namespace)
	if err != nil {
		return snapshot{}, err
	}
	now, err := s.readTime(namespace, reply)
	if err != nil || len(reply) < 3 {
		return snapshot{}, s.unexpected(namespace, reply)
	}

	fields := map[string]string{}
	hash, _ := reply[2].([]any)
	for pair := range slices.Chunk(hash, 2) {
		fields[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
	}
	return snapshot{namespace: namespace, fields: fields, now: now}, nil
}

// row is a worker's row.
type row struct {
	order.Row
	holder string // JSON
}

// rows returns the rows of a namespace, in any order.
func (s *Store) rows(from snapshot) ([]row, error) {
	var rows []row
	for field, text := range from.fields {
		if field == layoutField || field == protocolField {
			continue
		}
		r, ok := parseRow(field, text, from.now)
		if !ok {
			return nil, s.corrupt(from.namespace, field)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// parseRow reads a row as lua/row.lua writes it.
func parseRow(field, text string, now time.Time) (row, bool) {
	columns := strings.SplitN(text, " ", 5)
	if len(columns) != 5 || len(columns[3]) != 32 {
		return row{}, false
	}

	var n [4]int64
	for i, column := range []string{field, columns[0], columns[1], columns[2]} {
		var err error
		if n[i], err = strconv.ParseInt(column, 10, 64); err != nil || len(column) != 19 {
			return row{}, false
		}
	}

	expires := time.UnixMilli(n[3])
	return row{
		Row: order.Row{
			Worker: n[0], Epoch: n[1], Horizon: n[2], Token: columns[3], Free: !now.Before(expires), FreeFrom: expires,
		},
		holder: columns[4],
	}, true
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
