package kvlease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/sealed"
)

// maxNew is how many of the workers that were never taken are considered at once.
const maxNew = 1024

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
		return nil, fmt.Errorf("kvlease: %w", err)
	}
	found := map[string]*namespace{}
	for _, pair := range pairs {
		name, worker, ok := parseKey(pair.Key)
		if !ok {
			return nil, damaged(pair.Key, errors.New("not a key of a lease: another program uses the same place"))
		}
		ns := found[name]
		if ns == nil {
			ns = &namespace{name: name}
			found[name] = ns
		}
		if err := ns.add(pair, worker); err != nil {
			return nil, damaged(pair.Key, err)
		}
	}
	var all []*namespace
	for _, ns := range found {
		if err := s.complete(ctx, ns); err != nil {
			return nil, err
		}
		slices.SortFunc(ns.rows, func(a, b candidate) int { return cmp.Compare(a.Worker, b.Worker) })
		all = append(all, ns)
	}
	slices.SortFunc(all, func(a, b *namespace) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// complete reads the layout if the list did not have it: lists may be torn, and the layout is written before the rows.
func (s *Store) complete(ctx context.Context, ns *namespace) error {
	if ns.revision != "" {
		return nil
	}
	key := prefixOf(ns.name) + layoutKey
	pair, err := s.kv.Get(ctx, key)
	switch {
	case err != nil:
		return fmt.Errorf("kvlease: %w", err)
	case pair.Revision == "":
		return damaged(key, errors.New("missing, and there are rows"))
	}
	if err := ns.add(pair, -1); err != nil {
		return damaged(key, err)
	}
	return nil
}

func (ns *namespace) add(pair Pair, worker int64) error {
	if worker < 0 {
		var h header
		if err := sealed.Unmarshal(pair.Value, &h); err != nil {
			return err
		}
		if err := checkFormat(h.Format); err != nil {
			return err
		}
		if h.Namespace != ns.name {
			return fmt.Errorf("it is that of namespace %q", h.Namespace)
		}
		ns.header, ns.revision = h, pair.Revision
		return nil
	}
	r, err := readRow(pair, ns.name, worker)
	ns.rows = append(ns.rows, candidate{r, pair.Revision})
	return err
}

func readRow(pair Pair, namespace string, worker int64) (r row, err error) {
	if err := sealed.Unmarshal(pair.Value, &r); err != nil {
		return r, err
	}
	switch err := checkFormat(r.Format); {
	case err != nil:
		return r, err
	case r.Namespace != namespace || r.Worker != worker:
		return r, fmt.Errorf("it is that of worker %d in namespace %q", r.Worker, r.Namespace)
	case r.Epoch < 1 || r.Epoch == math.MaxInt64 || r.Horizon < 0:
		return r, fmt.Errorf("epoch %d or horizon %d is out of range", r.Epoch, r.Horizon)
	}
	return r, nil
}

// find returns the row that is held with the token.
func (ns *namespace) find(token string, now time.Time) (row, bool) {
	for _, c := range ns.rows {
		if c.Token == token && c.held(now) {
			return c.row, true
		}
	}
	return row{}, false
}

// free returns the workers that may be taken: three groups, of which the first is to be used up before the second, and
// so on, each in the order in which its workers are to be taken.
func (ns *namespace) free(r lease.Request, now time.Time) [3][]candidate {
	var passed, unused, ahead []candidate
	next := r.First // the lowest worker that is not known to have a row
	for _, c := range ns.rows {
		if c.Worker < r.First || c.Worker > r.Last {
			continue
		}
		for ; next < c.Worker && len(unused) < maxNew; next++ {
			unused = append(unused, newWorker(r.Namespace, next))
		}
		next = c.Worker + 1 // overflows after the greatest worker, which is the last
		switch {
		case c.held(now):
		case c.Horizon <= r.Tick:
			passed = append(passed, c)
		default:
			ahead = append(ahead, c)
		}
	}
	for ; 0 <= next && next <= r.Last && len(unused) < maxNew; next++ {
		unused = append(unused, newWorker(r.Namespace, next))
	}
	byExpiry := func(a, b candidate) int { return a.Expires.Compare(b.Expires) }
	slices.SortStableFunc(passed, byExpiry)
	slices.SortStableFunc(ahead, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Horizon, b.Horizon), byExpiry(a, b))
	})
	return [3][]candidate{passed, unused, ahead}
}

func newWorker(namespace string, worker int64) candidate {
	return candidate{row: row{Namespace: namespace, Worker: worker}}
}

// noWorker is the error if all are held.
func (ns *namespace) noWorker(r lease.Request, now time.Time) error {
	e := &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
	for _, c := range ns.rows {
		if wait := c.Expires.Sub(now); c.Worker >= r.First && c.Worker <= r.Last && (e.Wait == 0 || wait < e.Wait) {
			e.Wait = wait
		}
	}
	return e
}
