package kvlease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
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
		return nil, engineError(err)
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
	for _, ns := range found {
		if ns.revision == "" { // lists may be torn, and the layout is written before the rows
			pair, err := s.kv.Get(ctx, prefixOf(ns.name)+layoutKey)
			switch {
			case err != nil:
				return nil, engineError(err)
			case pair.Revision == "":
				err = errors.New("missing, and there are rows")
			default:
				err = ns.add(pair, -1)
			}
			if err != nil {
				return nil, damaged(prefixOf(ns.name)+layoutKey, err)
			}
		}
		slices.SortFunc(ns.rows, func(a, b candidate) int { return cmp.Compare(a.Worker, b.Worker) })
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *namespace) int { return cmp.Compare(a.name, b.name) }), nil
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
	case r.Epoch < 1 || r.Epoch == math.MaxInt64 || r.Horizon < 0:
		return r, fmt.Errorf("epoch %d or horizon %d is out of range", r.Epoch, r.Horizon)
	}
	return r, nil
}

// free returns the workers that may be taken: three groups, of which the first is to be used up before the second, and
// so on, each in the order in which its workers are to be taken.
func (ns *namespace) free(r lease.Request, now time.Time) [3][]candidate {
	var passed, unused, ahead []candidate
	next := r.First // the lowest worker that is not known to have a row
	unusedUpTo := func(last int64) {
		for ; 0 <= next && next <= last && len(unused) < maxNew; next++ {
			unused = append(unused, candidate{row: row{Namespace: r.Namespace, Worker: next}})
		}
	}
	for _, c := range ns.rows {
		if c.Worker < r.First || c.Worker > r.Last {
			continue
		}
		unusedUpTo(c.Worker - 1)
		next = c.Worker + 1 // overflows after the greatest worker, which is the last
		switch {
		case c.held(now):
		case c.Horizon <= r.Tick:
			passed = append(passed, c)
		default:
			ahead = append(ahead, c)
		}
	}
	unusedUpTo(r.Last)
	byExpiry := func(a, b candidate) int { return a.Expires.Compare(b.Expires) }
	slices.SortStableFunc(passed, byExpiry)
	slices.SortStableFunc(ahead, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Horizon, b.Horizon), byExpiry(a, b))
	})
	return [3][]candidate{passed, unused, ahead}
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
