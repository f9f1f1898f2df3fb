package partition_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// Statements of writers, with the same event and a new ID each.
var (
	event       = idAt(noon).String()
	insertKind  = "INSERT INTO kinds VALUES ($1)"
	updateKind  = "UPDATE kinds SET id = id WHERE id = 1 AND $1 > 0::bigint"
	insertEvent = "INSERT INTO events VALUES ($1)"
	updateEvent = "UPDATE events SET body = '' WHERE id = " + event + " AND $1 > 0::bigint"
	lockEvent   = "SELECT $1::bigint FROM events WHERE id = " + event + " FOR UPDATE"
	readEvents  = "SELECT $1::bigint FROM events"
	insertLine  = "INSERT INTO lines VALUES ($1, " + event + ")"
	readLines   = "SELECT $1::bigint FROM lines"
	nothing     = "SELECT $1::bigint"
)

// Whichever table writers lock first, Adopt and a drop get their locks.
func TestPostgresChangesBesideWritersInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writers [][2]string
		drop    bool // also of a partition
	}{
		"has many, and children only": {[][2]string{{insertEvent, insertLine}, {insertLine, nothing}}, true},
		"belongs to":                  {[][2]string{{insertKind, insertEvent}}, true},
		"child before parent":         {[][2]string{{insertLine, updateEvent}, {insertEvent, updateKind}}, false},
		"parent locked, child then":   {[][2]string{{lockEvent, insertLine}}, false},
		"readers of the parent first": {[][2]string{{readEvents, readLines}}, false},
		"readers of the child first":  {[][2]string{{readLines, readEvents}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdopter(t, writtenTable+"INSERT INTO events VALUES ("+event+");\n")
			a.besideWriters(c.writers, func() error {
				_, err := a.set(partition.WithPatience(time.Hour)).Adopt(a.limit(), a.DB)
				return err
			})
			if !c.drop {
				return
			}
			a = newAdopter(t, strings.Replace(writtenTable, "body text)", "body text) PARTITION BY RANGE (id)", 1))
			a.maintain(a.set(partition.WithStart(a.day(-6))))
			a.run("INSERT INTO events VALUES (" + event + ");\n")
			a.besideWriters(c.writers, func() error {
				steps, err := a.set(partition.WithPatience(time.Hour), partition.WithRetain(5)).Maintain(a.limit(), a.DB)
				if len(steps) != 1 {
					t.Errorf("%v, want a drop", kinds(steps))
				}
				return err
			})
		})
	}
}

// besideWriters calls f while transactions of two statements each overlap.
func (a adopter) besideWriters(writers [][2]string, f func() error) {
	a.Helper()
	ctx, cancel := context.WithCancel(a.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var written atomic.Int64
	for n := range 4 * len(writers) {
		pair := writers[n%len(writers)]
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := a.writeBoth(pair, int64(idAt(noon))+written.Add(1)); err != nil {
					a.Errorf("%s: %v", pair, err)
					return
				}
			}
		})
	}
	a.until("writers", func() bool { return written.Load() > 8 })
	a.ok(f())
}

// writeBoth executes two statements in a transaction, with a pause in which others begin theirs.
func (a adopter) writeBoth(statements [2]string, id int64) error {
	tx, err := a.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range statements {
		if _, err := tx.Exec(statement, id); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return tx.Commit()
}
