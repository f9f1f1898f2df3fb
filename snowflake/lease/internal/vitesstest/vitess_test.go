//go:build linux

// Package vitesstest tests leases and GORM on Vitess: leases in an unsharded keyspace, with processes that are killed,
// and orders and their lines in a keyspace with two shards.
//
// The tests run with SNOWFLAKE_TEST_VITESS=throwaway:FOLDER, where FOLDER has vtcombo and mysqld: see .ci/vitess.
package vitesstest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TestMain makes the test binary an issuer or the tests.
func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error of issuers is for notes
	processtest.Main(func(dsn string) (leasestore.Store, error) {
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return sqllease.New(db, sqldb.MySQL)
	})
	os.Exit(m.Run())
}

func TestVitess(t *testing.T) {
	v := start(t)
	t.Run("the store keeps the contract", func(t *testing.T) { keepContract(t, v.target("leases")) })
	t.Run("killed processes never repeat an ID", func(t *testing.T) {
		target := v.target("leases")
		processtest.KilledProcesses(t, target.DSN, store(t, target), processtest.NothingElse)
	})

	t.Run("processes that start at once have different workers", func(t *testing.T) {
		target := v.target("leases")
		db := target.Open(t)
		for _, table := range []string{"snowflake_leases", "snowflake_namespaces"} { // they create them again
			_, err := db.ExecContext(t.Context(), "DROP TABLE IF EXISTS "+table)
			must(t, err)
		}
		processtest.ProcessesStartedTogether(t, target.DSN, func() leasestore.Store { return store(t, target) })
	})

	t.Run("orders and their lines are in one shard, in pages and in time ranges", func(t *testing.T) { useShop(t, v) })
	t.Run("a repeated ID is refused", func(t *testing.T) { refuseRepeats(t, v) })
}

func TestTheREADMEShowsTheVschema(t *testing.T) {
	text, err := os.ReadFile("../../../../gormplugin/README.md")
	must(t, err)
	if !strings.Contains(string(text), vschema) {
		t.Errorf("want in gormplugin/README.md:\n%s", vschema)
	}
}

func store(t *testing.T, target testdb.Target) *sqllease.Store {
	t.Helper()
	db := target.Open(t)
	db.SetMaxOpenConns(10)
	s, err := sqllease.New(db, sqldb.MySQL)
	must(t, err)
	must(t, s.Migrate(t.Context()))
	return s
}

func keepContract(t *testing.T, target testdb.Target) {
	db := target.Open(t)
	leasetest.Run(t, func(t *testing.T) leasestore.Store { return store(t, target) }, leasetest.Settings{
		Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
			tb.Helper()
			_, err := db.ExecContext(tb.Context(), "UPDATE snowflake_namespaces SET protocol = 3 WHERE namespace = ?", namespace)
			must(tb, err)
		},
	})
}

const variable = "SNOWFLAKE_TEST_VITESS"

// topology is two keyspaces: one for leases, and the shop's with two shards.
const topology = `keyspaces:{name:"leases" shards:{name:"0"}}
	keyspaces:{name:"shop" shards:{name:"-80"} shards:{name:"80-"}}`

// vschema puts the lines of an order into its shard. gormplugin's README shows it.
const vschema = `{
  "sharded": true,
  "vindexes": {"by_order": {"type": "xxhash"}},
  "tables": {
    "orders": {"column_vindexes": [{"column": "id", "name": "by_order"}]},
    "order_lines": {"column_vindexes": [{"column": "order_id", "name": "by_order"}]}
  }
}`

// vitess is a server: vtgate and the vttablets of all shards in one process, on one MySQL.
type vitess struct{ addr string }

// target is a keyspace, or one shard of it, as in "shop:-80".
func (v vitess) target(keyspace string) testdb.Target {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.ParseTime = "root", "tcp", v.addr, keyspace, true
	return testdb.Target{Name: "mariadb", Driver: "mysql", DSN: c.FormatDSN()}
}

// start starts a server that ends with the test.
func start(t *testing.T) vitess {
	t.Helper()
	folder, ok := strings.CutPrefix(os.Getenv(variable), "throwaway:")
	if !ok {
		t.Skip("only with " + variable + "=throwaway:FOLDER")
	}

	server := startMySQL(t, folder)
	dir := filepath.Join(server.Folder, "vitess")
	port := processtest.FreePort(t)
	args := []string{
		"--proto-topo", topology, "--schema-dir", dir,
		"--mysql-server-port", strconv.Itoa(port), "--mysql-server-bind-address", "127.0.0.1",
		"--mysql-auth-server-impl", "none",
		"--port", strconv.Itoa(processtest.FreePort(t)), "--bind-address", "127.0.0.1",
		"--db-socket", filepath.Join(server.Folder, "socket"), "--db-charset", "utf8mb4", "--mycnf-server-id", "1",
	}
	for _, role := range []string{"app", "dba", "allprivs", "appdebug", "filtered", "repl"} {
		args = append(args, "--db-"+role+"-user", "root")
	}
	write(t, filepath.Join(dir, "shop", "vschema.json"), vschema)
	log, ended := startVtcombo(t, dir, filepath.Join(folder, "vtcombo"), args)

	v := vitess{addr: "127.0.0.1:" + strconv.Itoa(port)}
	db := v.target("shop").Open(t)
	processtest.Eventually(t, "an answer of Vitess", func() bool {
		select {
		case <-ended:
			text, _ := os.ReadFile(log)
			t.Fatalf("vtcombo has ended: %s", text[max(0, len(text)-2000):])
		default:
		}
		return db.PingContext(t.Context()) == nil
	})
	return v
}

// startMySQL starts the server that has the databases of all shards. Another user may use its socket.
func startMySQL(t *testing.T, folder string) *dbserver.Server {
	t.Helper()
	server, err := dbserver.Start(t.Context(), dbserver.Config{
		Name: "mariadb", Folder: folder, Args: []string{"--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	must(t, os.Chmod(server.Folder, 0o711)) //nolint:gosec // see above

	db := testdb.Target{Driver: "mysql", DSN: server.DSN}.Open(t)
	for _, name := range []string{"vt_leases_0", "vt_shop_-80", "vt_shop_80-"} {
		_, err := db.ExecContext(t.Context(), "CREATE DATABASE `"+name+"`")
		must(t, err)
	}
	return server
}

// startVtcombo starts the program. It refuses to run as root.
func startVtcombo(t *testing.T, dir, program string, args []string) (log string, ended <-chan struct{}) {
	t.Helper()
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		must(t, err)
		uid, _ := strconv.ParseUint(nobody.Uid, 10, 32) // a number on Linux
		gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		must(t, os.Chown(dir, int(uid), int(gid)))
	}

	log = filepath.Join(dir, "log")
	out, err := os.Create(log)
	must(t, err)
	defer func() { _ = out.Close() }() // the program has its own descriptor
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, attributes, out, out
	cmd.Env = append(os.Environ(), "VTDATAROOT="+dir)
	must(t, cmd.Start())

	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log is more useful than the exit code
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		<-done
	})
	return log, done
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))  //nolint:gosec // vtcombo is another user's
	must(t, os.WriteFile(path, []byte(text), 0o644)) //nolint:gosec // the same
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count returns the number that a query answers with.
func count(t *testing.T, target testdb.Target, query string) (n int) {
	t.Helper()
	must(t, target.Open(t).QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// Order is in the shard of its key, with its lines.
type Order struct {
	ID    snowflake.ID `gorm:"primaryKey"`
	State string       `gorm:"size:20"`
	Lines []OrderLine
}

// OrderLine has a key that MySQL keeps unique in each shard only.
type OrderLine struct {
	ID      snowflake.ID `gorm:"primaryKey"`
	OrderID snowflake.ID `gorm:"index"`
	Item    string       `gorm:"size:20"`
}

// newOrders returns n orders of so many lines each.
func newOrders(n, lines int) []Order {
	orders := make([]Order, n)
	for i := range orders {
		orders[i].State = "open"
		for line := range lines {
			orders[i].Lines = append(orders[i].Lines, OrderLine{Item: fmt.Sprint("item ", line)})
		}
	}
	return orders
}

// openGORM names the columns in SELECT: for a while after CREATE TABLE vtgate does not know what * is (VT09015).
func openGORM(target testdb.Target) (*gorm.DB, error) {
	return gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard, QueryFields: true})
}

// useShop does with GORM what applications do, with a lease in the other keyspace.
func useShop(t *testing.T, v vitess) {
	db, err := openGORM(v.target("shop"))
	must(t, err)
	plugin, err := gormplugin.Open(t.Context(), db, gormplugin.WithLeaseTables("leases.snowflake_"))
	must(t, err)
	defer plugin.Close(context.WithoutCancel(t.Context()))
	must(t, db.AutoMigrate(&Order{}, &OrderLine{}))

	orders := newOrders(1, 3)
	must(t, db.Create(&orders[0]).Error)
	more := newOrders(999, 2)
	must(t, db.CreateInBatches(&more, 100).Error)
	orders = append(orders, more...)
	layout, last := plugin.Lease().Generator().Layout(), orders[len(orders)-1]
	middle := layout.Time(last.Lines[1].ID).Add(layout.Tick())
	time.Sleep(2 * layout.Tick())
	later := newOrders(500, 1)
	must(t, db.CreateInBatches(&later, 100).Error)
	orders = append(orders, later...)

	upsert := []Order{{ID: orders[0].ID, State: "paid"}, {State: "new"}}
	must(t, db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"state"})}).Create(&upsert).Error)
	orders[0].State = "paid"
	orders = append(orders, upsert[1])
	orders[1].State = "sent"
	must(t, db.Save(&orders[1]).Error)
	must(t, db.Model(&orders[2]).Association("Lines").Append(&OrderLine{Item: "one more"}))
	must(t, db.Model(&orders[3].Lines[0]).Updates(OrderLine{Item: "another"}).Error)
	must(t, db.Clauses(clause.Insert{Modifier: "IGNORE"}).Create(&Order{ID: orders[4].ID}).Error)

	checkPages(t, db, orders)
	checkTimes(t, db, middle, len(later)+1, len(orders))
	checkShards(t, v)
}

// checkPages reads all orders with their lines, forwards and backwards.
func checkPages(t *testing.T, db *gorm.DB, want []Order) {
	t.Helper()
	for _, page := range []gormplugin.Page{{Limit: 77}, {Limit: 100, Desc: true}} {
		var found []Order
		for order, err := range gormplugin.Each[Order](t.Context(), db.Preload("Lines"), page) {
			must(t, err)
			found = append(found, order)
		}

		if page.Desc {
			slices.Reverse(found)
		}

		same := func(a, b Order) bool { return a.ID == b.ID && a.State == b.State && len(a.Lines) == len(b.Lines) }
		if !slices.EqualFunc(found, want, same) {
			t.Errorf("pages of %d, descending %v, have %d orders, or other ones than the %d that were written",
				page.Limit, page.Desc, len(found), len(want))
		}
	}
}

// checkTimes counts the orders since middle, and all of them.
func checkTimes(t *testing.T, db *gorm.DB, middle time.Time, since, all int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for from, want := range map[time.Time]int{middle: since, middle.Add(-time.Hour): all} {
		var n int64
		must(t, db.Model(&Order{}).Where(gormplugin.CreatedBetween(from, end)).Count(&n).Error)
		if int(n) != want {
			t.Errorf("%d orders since %v, want %d", n, from, want)
		}
	}
}

// checkShards fails if a shard has no orders, or a line without its order.
func checkShards(t *testing.T, v vitess) {
	t.Helper()
	for _, shard := range []string{"shop:-80", "shop:80-"} {
		target := v.target(shard)
		orders, lines := count(t, target, "SELECT COUNT(*) FROM orders"), count(t, target, "SELECT COUNT(*) FROM order_lines")
		lost := count(t, target, "SELECT COUNT(*) FROM order_lines WHERE order_id NOT IN (SELECT id FROM orders)")
		if orders == 0 || lines == 0 || lost > 0 {
			t.Errorf("%s has %d orders, and %d lines, %d of them without their order", shard, orders, lines, lost)
		}
		t.Logf("%s: %d orders, %d lines", shard, orders, lines)
	}
}

// refuseRepeats writes an order and a line with IDs that exist. For the line GORM's own clause would hide that; here
// the database fails to compute an expression, and Vitess has to hand on both.
func refuseRepeats(t *testing.T, v vitess) {
	db, err := openGORM(v.target("shop"))
	must(t, err)
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond)
	must(t, db.Use(gormplugin.New(gen)))
	order := newOrders(1, 1)[0]
	must(t, db.Create(&order).Error)

	gen.Pin(order.ID)
	if err := db.Create(&Order{}).Error; !errors.Is(err, gormplugin.ErrRepeated) {
		t.Errorf("an order: %v, want ErrRepeated", err)
	}
	gen.Pin(order.Lines[0].ID)
	if err := db.Model(&order).Association("Lines").Append(&OrderLine{}); !errors.Is(err, gormplugin.ErrRepeated) {
		t.Errorf("a line: %v, want ErrRepeated", err)
	}
}
