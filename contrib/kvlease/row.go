package kvlease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// format marks each value, with the version of the protocol at the end. A later version that needs to keep this one out
// writes another number into the key of the layout, and then into all rows.
const format = "sqlflake lease 1"

// header is the value of a namespace's key of the layout. It is written once, but for the floor.
type header struct {
	Format    string    `json:"format"`
	Namespace string    `json:"namespace"`
	Layout    string    `json:"layout"`
	Created   time.Time `json:"created"`        // differs from the time of a namespace that was deleted before
	Floor     time.Time `json:"floor,omitzero"` // for Grant.Floor, if there was one before
}

// row is the value of a worker's key.
type row struct {
	Format    string    `json:"format"`
	Namespace string    `json:"namespace"`
	Worker    int64     `json:"worker"`
	Epoch     int64     `json:"epoch"`
	Horizon   int64     `json:"horizon"`
	Free      bool      `json:"free"`    // given back
	Expires   time.Time `json:"expires"` // by the clock of the process that wrote it
	Token     string    `json:"token"`   // of the last owner
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
}

// held needs no clock for a worker that was given back.
func (r *row) held(now time.Time) bool { return !r.Free && now.Before(r.Expires) }

// hold sets the expiry, without the monotonic clock, which no other process has.
func (r *row) hold(ttl time.Duration, now time.Time) {
	r.Free, r.Expires = false, now.Add(ttl).Round(0).UTC()
}

// release keeps an expiry that has passed, so that it can be repeated and says since when the worker is free.
func (r *row) release(now time.Time) {
	if r.held(now) {
		r.Expires = now.Round(0).UTC()
	}
	r.Free = true
}

func (r *row) entry(layout string, now time.Time) leasestore.Entry {
	return leasestore.Entry{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: r.Worker, Epoch: r.Epoch},
		Layout:  layout,
		Horizon: r.Horizon,
		Expires: r.Expires,
		Held:    r.held(now),
		Holder:  leasestore.Holder{Host: r.Host, PID: r.PID, Version: r.Version},
	}
}

// unseal reads a value with the fields format and namespace.
func unseal(text []byte, value any, got, namespace *string) error {
	if err := checksummed.Unmarshal(text, value); err != nil {
		return err
	}
	return checksummed.CheckFormat(*got, format, *namespace)
}

// damaged names the key in the error of its value.
func damaged(key string, err error) error {
	if err == nil {
		return nil
	}
	return checksummed.Damaged(fmt.Sprintf("key %q", key), err)
}

const layoutKey = "layout" // takes the place of the worker's number

func keyOf(namespace string, worker int64) string {
	return fmt.Sprintf("%s%019d", prefixOf(namespace), worker)
}

// prefixOf returns what the keys of a namespace begin with.
func prefixOf(namespace string) string { return escape(namespace) + "/" }

// parseKey is the inverse of keyOf, and of a namespace's key of the layout, whose worker is -1.
func parseKey(key string) (namespace string, worker int64, ok bool) {
	name, last, found := strings.Cut(key, "/")
	namespace, ok = unescape(name)
	if !found || !ok {
		return "", 0, false
	}
	if last == layoutKey {
		return namespace, -1, true
	}
	number, err := strconv.ParseUint(last, 10, 63)
	worker = int64(number)
	return namespace, worker, err == nil && keyOf(namespace, worker) == key
}

// escape writes a name in the characters that every engine accepts in a key.
func escape(name string) string { return toKey.Replace(url.QueryEscape(name)) }

// toKey replaces what QueryEscape returns besides ASCII letters, digits, "-" and "_".
var toKey = strings.NewReplacer("%", "=", "+", "=20", ".", "=2E", "~", "=7E")

// unescape is the inverse of escape, and returns false for what escape does not return.
func unescape(text string) (string, bool) {
	name, err := url.PathUnescape(strings.ReplaceAll(text, "=", "%"))
	return name, err == nil && escape(name) == text
}

// namespace is what a store has of one.
type namespace struct {
	name     string
	header   header
	revision string // of the header; empty if there is none
	rows     []candidate
}

// candidate is a worker with its row as it was read; an empty revision means that it was never taken.
type candidate struct {
	row
	revision string
}

// read returns the namespaces whose keys begin with the prefix, in order, with their rows in order.
func (s *Store) read(ctx context.Context, prefix string) ([]*namespace, error) {
	pairs, err := s.kv.List(ctx, prefix)
	if err != nil {
		return nil, engineError(err)
	}

	var all []*namespace
	byKey := func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) } // the number of a worker has 19 digits
	for _, pair := range slices.SortedFunc(slices.Values(pairs), byKey) {
		name, worker, ok := parseKey(pair.Key)
		if !ok {
			return nil, damaged(pair.Key, errors.New("not a key of a lease: another program uses the same place"))
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, &namespace{name: name})
		}
		if err := all[len(all)-1].add(pair, worker); err != nil {
			return nil, damaged(pair.Key, err)
		}
	}

	for _, ns := range all {
		if ns.revision == "" { // lists may be torn, and the layout is written before the rows
			if err := s.readLayout(ctx, ns); err != nil {
				return nil, err
			}
		}
	}

	slices.SortFunc(all, func(a, b *namespace) int { return cmp.Compare(a.name, b.name) }) // keys have escapes
	return all, nil
}

// readLayout adds the layout of a namespace that has rows.
func (s *Store) readLayout(ctx context.Context, ns *namespace) error {
	key := prefixOf(ns.name) + layoutKey
	pair, err := s.kv.Get(ctx, key)
	if err != nil {
		return engineError(err)
	}
	if pair.Revision == "" {
		return damaged(key, errors.New("the layout is missing, and the namespace has rows"))
	}
	return damaged(key, ns.add(pair, -1))
}

func (ns *namespace) add(pair Pair, worker int64) error {
	if worker < 0 {
		err := unseal(pair.Value, &ns.header, &ns.header.Format, &ns.header.Namespace)
		if err == nil && ns.header.Namespace != ns.name {
			err = fmt.Errorf("it is that of namespace %q", ns.header.Namespace)
		}
		ns.revision = pair.Revision
		return err
	}
	r, err := readRow(pair, ns.name, worker)
	ns.rows = append(ns.rows, candidate{r, pair.Revision})
	return err
}

func readRow(pair Pair, namespace string, worker int64) (r row, err error) {
	switch err := unseal(pair.Value, &r, &r.Format, &r.Namespace); {
	case err != nil:
		return r, err
	case r.Namespace != namespace || r.Worker != worker:
		return r, fmt.Errorf("it is that of worker %d in namespace %q", r.Worker, r.Namespace)
	case r.Epoch < 1, r.Epoch == math.MaxInt64, r.Horizon < 0:
		return r, fmt.Errorf("epoch %d or horizon %d is out of range", r.Epoch, r.Horizon)
	}
	return r, nil
}

// read returns the rows for package order.
func (ns *namespace) read(now time.Time) []order.Row {
	rows := make([]order.Row, len(ns.rows))
	for i, c := range ns.rows {
		rows[i] = order.Row{
			Worker: c.Worker, Epoch: c.Epoch, Horizon: c.Horizon, Token: c.Token,
			Free: !c.held(now), FreeFrom: c.Expires,
		}
	}
	return rows
}

// find returns the worker with its row, if it has one.
func (ns *namespace) find(worker int64) candidate {
	byWorker := func(c candidate, worker int64) int { return cmp.Compare(c.Worker, worker) }
	if i, ok := slices.BinarySearchFunc(ns.rows, worker, byWorker); ok {
		return ns.rows[i]
	}
	return candidate{row: row{Namespace: ns.name, Worker: worker}}
}
