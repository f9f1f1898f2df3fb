package kvlease_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/kvlease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// memory is an engine in the memory of the test.
type memory struct {
	mu       sync.Mutex
	revision uint64
	pairs    map[string]kvlease.Pair
	old      map[string][]kvlease.Pair // what the key had before, first to last

	stale     bool // half of the reads of a key return what it had once
	torn      bool // lists have no layout
	lose      int  // so many of the next swaps are done, and then fail
	deny      int  // so many of the next swaps are done, and answered with false
	left      int  // this many calls from now one fails; 0: none
	reads     int  // of keys and of lists
	swaps     int
	conflicts int
}

var errLostReply, errDown = errors.New("the reply was lost"), errors.New("the engine is down")

func newMemory() *memory {
	return &memory{pairs: map[string]kvlease.Pair{}, old: map[string][]kvlease.Pair{}}
}

// down counts a call and reports whether it is to fail.
func (m *memory) down() bool {
	m.left--
	return m.left == 0
}

func (m *memory) Get(_ context.Context, key string) (kvlease.Pair, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads++; m.down() {
		return kvlease.Pair{}, errDown
	}
	if old := m.old[key]; m.stale && len(old) > 0 && rand.N(2) == 0 {
		return old[rand.N(len(old))], nil
	}
	return m.pairs[key], nil
}

func (m *memory) List(_ context.Context, prefix string) ([]kvlease.Pair, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads++; m.down() {
		return nil, errDown
	}

	var found []kvlease.Pair
	for key, pair := range m.pairs { // in any order
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if m.torn && key == "orders/layout" {
			continue
		}
		found = append(found, pair)
	}

	return found, nil
}

func (m *memory) Swap(_ context.Context, key string, value []byte, revision string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.swaps++; m.down() {
		return false, errDown
	}

	before := m.pairs[key]
	if before.Revision != revision {
		m.conflicts++
		return false, nil
	}

	if revision != "" {
		m.old[key] = append(m.old[key], before)
	}

	m.put(key, string(value))
	if m.lose > 0 {
		m.lose--
		return false, errLostReply
	}

	if m.deny > 0 {
		m.deny--
		return false, nil
	}

	return true, nil
}

func (m *memory) put(key, value string) {
	m.revision++
	m.pairs[key] = kvlease.Pair{Key: key, Value: []byte(value), Revision: strconv.FormatUint(m.revision, 36)}
}

// values returns all values by key.
func (m *memory) values() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := map[string]string{}
	for key, pair := range maps.All(m.pairs) {
		values[key] = string(pair.Value)
	}
	return values
}

// require2 does what a later version would do that needs to keep this one out.
func (m *memory) require2(tb testing.TB, namespace string) {
	tb.Helper()
	for key, value := range m.values() {
		if strings.HasPrefix(key, namespace+"/") {
			m.put(key, reseal(tb, strings.Replace(value, "sqlflake lease 1", "sqlflake lease 2", 1)))
		}
	}
}

// marked is an engine in which a later version marks the namespace just before a worker is taken that it can't find.
type marked struct {
	*memory
	tb testing.TB
}

func (m *marked) Swap(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	if !strings.HasSuffix(key, "/layout") {
		m.require2(m.tb, "orders")
	}
	return m.memory.Swap(ctx, key, value, revision)
}

func TestAnAcquisitionDuringWhichALaterVersionMarksTheNamespaceIsRefused(t *testing.T) {
	var later *lease.VersionError
	if grant, err := open(t, &marked{newMemory(), t}).Acquire(t.Context(), request(0, 9)); !errors.As(err, &later) {
		t.Errorf("%+v, %v; want a *VersionError", grant, err)
	}
}

func open(t *testing.T, kv kvlease.KV) *kvlease.Store {
	t.Helper()
	store, err := kvlease.New(kv)
	must(t, err)
	return store
}

// An engine that reads from a replica behind the others costs repetitions: no worker is called lost for it.
func TestStoreKeepsTheContractAlsoWithStaleReads(t *testing.T) {
	for name, stale := range map[string]bool{"fresh": false, "stale": true} {
		t.Run(name, func(t *testing.T) {
			var kv *memory
			leasetest.Run(t, func(t *testing.T) leasestore.Store {
				t.Helper()
				kv = newMemory()
				kv.stale = stale
				return open(t, kv)
			}, leasetest.Settings{Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
				tb.Helper()
				kv.require2(tb, namespace)
			}})
		})
	}
}

func TestNewRefusesNil(t *testing.T) {
	var none *memory
	for _, kv := range []kvlease.KV{nil, none} {
		if store, err := kvlease.New(kv); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New: %v, %v; want ErrOption", store, err)
		}
	}
}
