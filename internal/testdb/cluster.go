//go:build unix

package testdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	clusterPrefix  = "sqlflake-pg-" // of the temporary directory; the process number follows
	clusterTimeout = time.Minute    // for initdb and the first answer, and again for the shutdown
)

// cluster is a PostgreSQL server that this process has started. It listens on a socket in its directory only.
type cluster struct {
	dir    string // temporary, with the socket, the data and the log
	bin    string // the directory of the binaries
	owner  *syscall.Credential
	server *os.Process
	exited chan struct{} // closed when the server has ended
}

var (
	clusterMu sync.Mutex
	running   *cluster // nil when there is none
)

// startCluster starts the cluster of this process and returns its DSN. [server.find] calls it at most once.
func startCluster() (dsn string, err error) {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	bin, err := findBinaries()
	if err != nil {
		return "", err
	}
	sweepClusters()
	dir, err := os.MkdirTemp("", clusterPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	c := &cluster{dir: dir, bin: bin, exited: make(chan struct{})}
	if err := c.start(); err != nil {
		return "", errors.Join(err, c.stop())
	}
	running = c
	socket := url.Values{"host": {dir}, "sslmode": {"disable"}}
	return "postgres://postgres@/postgres?" + socket.Encode(), nil
}

// Stop ends the throwaway cluster, if this process has started one, and removes its directory. [Main] calls it.
func Stop() {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	if running == nil {
		return
	}
	if err := running.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "testdb: stop the throwaway PostgreSQL: %v\n", err)
	}
	running = nil
}

func (c *cluster) start() error {
	if err := c.chooseOwner(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	data := filepath.Join(c.dir, "data")
	initdb := c.command(ctx, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server holds a copy
	// Without network, and without waiting for the disk: nothing is read after a crash.
	server := c.command(context.Background(), "postgres", "-D", data, "-k", c.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
	server.Stdout, server.Stderr = log, log
	started := make(chan error)
	go func() {
		// Linux sends Pdeathsig when the thread that started the child ends, so this thread must live as long.
		runtime.LockOSThread()
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait() // the log has the reason
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.server = server.Process
	return c.waitUntilReady(ctx)
}

func (c *cluster) waitUntilReady(ctx context.Context) error {
	socket := filepath.Join(c.dir, ".s.PGSQL.5432")
	dsn := "host=" + c.dir + " user=postgres dbname=postgres sslmode=disable"
	for {
		if _, err := os.Stat(socket); err == nil {
			if _, err = askVersion(ctx, "pgx", dsn, "SHOW server_version"); err == nil {
				return nil
			}
		}
		select {
		case <-c.exited:
			out, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("postgres ended: %s", out)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop shuts the server down without a checkpoint and removes its directory.
func (c *cluster) stop() error {
	if c.server != nil {
		_ = c.server.Signal(syscall.SIGQUIT) // fails only if it has ended
		select {
		case <-c.exited:
		case <-time.After(clusterTimeout):
			_ = c.server.Kill()
			<-c.exited
		}
	}
	return os.RemoveAll(c.dir)
}

// chooseOwner gives the directory to an unprivileged user if this process is root: PostgreSQL refuses to run as root.
func (c *cluster) chooseOwner() error {
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return fmt.Errorf("PostgreSQL refuses to run as root: %w", err)
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s: %w", account.Username, err)
	}
	c.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir // the owner may have no access to the working directory of the tests
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// In its own process group the server does not get the Ctrl-C of the terminal. This process does, and stops it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	return cmd
}

// findBinaries returns a directory that holds initdb and postgres.
func findBinaries() (string, error) {
	candidates := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range binaryFolders {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		candidates = append(candidates, matches...)
	}
	for _, dir := range candidates {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New("initdb and postgres are not installed")
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && filepath.IsAbs(path)
}

// sweepClusters removes the directories of killed processes. The name of a directory contains the process number.
func sweepClusters() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), clusterPrefix+"*")) // fails for a bad pattern only
	for _, dir := range dirs {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), clusterPrefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 {
			continue
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // fails if another user owns it
		}
	}
}
