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

	"github.com/sqlflake/sqlflake/internal/order"
)

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
