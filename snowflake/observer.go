package snowflake

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Observer is told how long calls for IDs had to wait and how long calls of a lease's store took, for histograms. What
// can be counted is in Stats and in lease.Status, which are read when they are needed.
//
// Observe is called after the wait or the call, by the goroutine that made it and before it goes on, with no lock held.
// Many goroutines may call it at the same time. It must return quickly and must not panic. It may call Stats and
// lease.Status, but should not take IDs of the generator or close the lease. A call that gets its IDs, or fails, without
// a wait does not call it: for example one whose context ends before its IDs would be due.
type Observer interface {
	// Observe receives what was done, how long it took by the monotonic clock, and the error that ended it.
	Observe(op Operation, took time.Duration, err error)
}

// Operation is what an Observer is told about.
type Operation string

// The operations. The last three are calls of a lease's store.
const (
	OpWait    Operation = "wait"    // a wait until IDs were due; a long Fill may have several
	OpStall   Operation = "stall"   // a wait for a lease: for a worker, or for its horizon to rise
	OpAcquire Operation = "acquire" // a worker was asked for
	OpExtend  Operation = "extend"  // a higher horizon was asked for
	OpRelease Operation = "release" // the worker was given back
)

// AddObserver tells o about everything from now on that concerns the generator, the generators that share its worker in
// this process, and its lease. What package lease does in Open is over by then.
//
// remove ends that; calls that are running may still call o. It may be called several times. A nil o is not added, nor
// is one of a nil or zero Generator.
func (g *Generator) AddObserver(o Observer) (remove func()) {
	c := g.current()
	if c == nil || o == nil {
		return func() {}
	}
	return c.observers.add(o)
}

// Observe reports an operation to the generator's observers. It is for the calls of a lease's store.
func (l *Lessee) Observe(op Operation, took time.Duration, err error) {
	l.source.current.Load().observers.observe(op, took, err)
}

// observers is a list that is read without a lock.
type observers struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*Observer] // never changed; addresses, since an Observer need not be comparable
}

func (s *observers) add(o Observer) (remove func()) {
	entry := &o
	s.update(func(list []*Observer) []*Observer { return append(list, entry) })
	return func() {
		s.update(func(list []*Observer) []*Observer {
			return slices.DeleteFunc(list, func(e *Observer) bool { return e == entry })
		})
	}
}

// update replaces the list by what change makes of a copy.
func (s *observers) update(change func([]*Observer) []*Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := change(slices.Clone(s.load()))
	s.list.Store(&list)
}

func (s *observers) load() []*Observer {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *observers) observe(op Operation, took time.Duration, err error) {
	for _, o := range s.load() {
		(*o).Observe(op, took, err)
	}
}
