//go:build linux

package vitesstest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// sellerVariable makes the test binary a seller; it holds the DSN of the shop.
const sellerVariable = "SNOWFLAKE_VITESSTEST_SELLER"

// sellerMain is for TestMain. In a seller it does not return.
func sellerMain() {
	if dsn, ok := os.LookupEnv(sellerVariable); ok {
		fmt.Println("error", sell(testdb.Target{Name: "mariadb", Driver: "mysql", DSN: dsn}))
		os.Exit(1)
	}
}

// sell writes orders until an error. After each commit it prints the keys, one a line.
func sell(target testdb.Target) error {
	db, _, err := openShop(context.Background(), target, sellers...)
	if err != nil {
		return err
	}
	for {
		orders := newOrders(1+rand.N(30), rand.N(4))
		if err := db.CreateInBatches(&orders, 20).Error; err != nil {
			return err
		}
		var text []byte
		for _, o := range orders {
			text = fmt.Appendln(text, o.ID)
			for _, line := range o.Lines {
				text = fmt.Appendln(text, line.ID)
			}
		}
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
	}
}

// sellers have fewer workers than processes that die within two windows.
var sellers = []lease.Option{
	lease.WithWorkers(0, 3), lease.WithWindow(200 * time.Millisecond), lease.WithPatience(processtest.Patience),
}

// seller is a process that sells until it is killed.
type seller struct {
	cmd  *exec.Cmd
	sold chan struct{} // closed after the first key
	keys []snowflake.ID
	err  error // of the seller
	done chan struct{}
}

func startSeller(dsn string) (*seller, error) {
	s := &seller{cmd: exec.Command(os.Args[0]), sold: make(chan struct{}), done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), sellerVariable+"="+dsn)
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		lines := bufio.NewReader(out)
		for line, err := lines.ReadBytes('\n'); err == nil; line, err = lines.ReadBytes('\n') { // without a cut one
			id, err := snowflake.Parse(string(bytes.TrimSpace(line)))
			if err != nil {
				s.err = fmt.Errorf("a seller ended: %s", line)
			} else if s.keys = append(s.keys, id); len(s.keys) == 1 {
				close(s.sold)
			}
		}
		_ = s.cmd.Wait() // "signal: killed"
	}()
	return s, nil
}

// killAtRandom kills one in five while it starts, the others while they sell.
func (s *seller) killAtRandom() error {
	if rand.N(5) > 0 {
		select {
		case <-s.sold:
		case <-s.done:
		case <-time.After(processtest.Patience):
		}
	}
	time.Sleep(rand.N(400 * time.Millisecond))
	_ = s.cmd.Process.Kill() // fails if it has ended, which err shows
	<-s.done
	return s.err
}

// killSellers kills processes that write orders at random instants, and starts the next ones.
func killSellers(t *testing.T, v vitess) {
	kills := processtest.Scale(8, 25) // of each of two sides
	var confirmed [2][]snowflake.ID
	var wait sync.WaitGroup
	for side := range confirmed {
		wait.Go(func() {
			for n := 0; n < kills && !t.Failed(); n++ {
				s, err := startSeller(v.target("shop").DSN)
				if err == nil {
					err = s.killAtRandom()
					confirmed[side] = append(confirmed[side], s.keys...)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	checkShards(t, v)
	checkKeys(t, v, append(confirmed[0], confirmed[1]...))
	t.Logf("%d kills", 2*kills)
}

// checkKeys fails if a key is in the tables twice, or one that was confirmed is in none.
func checkKeys(t *testing.T, v vitess, confirmed []snowflake.ID) {
	t.Helper()
	db, err := openGORM(v.target("shop"))
	must(t, err)
	stored := map[snowflake.ID]int{}
	keysOf[Order](t, db, func(o Order) { stored[o.ID]++ })
	keysOf[OrderLine](t, db, func(l OrderLine) { stored[l.ID]++ })

	twice, lost := 0, 0
	for _, n := range stored {
		twice += n - 1
	}
	for _, id := range confirmed {
		if stored[id] == 0 {
			lost++
		}
	}
	if twice > 0 || lost > 0 || len(confirmed) == 0 {
		t.Errorf("%d keys are there twice, and of %d confirmed ones %d are not", twice, len(confirmed), lost)
	}
	t.Logf("%d keys, %d confirmed by sellers, %d lost, %d twice", len(stored), len(confirmed), lost, twice)
}

func keysOf[T any](t *testing.T, db *gorm.DB, add func(T)) {
	t.Helper()
	for row, err := range gormplugin.Each[T](t.Context(), db, gormplugin.Page{Limit: 5000}) {
		must(t, err)
		add(row)
	}
}
