//go:build linux

package vitesstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count returns the number that a query answers with.
func count(t *testing.T, target testdb.Target, query string) (n int) {
	t.Helper()
	if err := target.Open(t).QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	return n
}
