//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/tempdir"
)

// kind is a kind of server.
type kind interface {
	// find returns the paths of the programs that create the files and that serve.
	find() (install, serve string, err error)
	// users returns the accounts that the server may use if this process runs as root, the best first.
	users() []string
	install(dir string) []string // arguments
	serve(dir string) []string
	dsn(dir string) string
	answers(ctx context.Context, dsn string) error
	end() syscall.Signal // ends it at once, with no regard to its files
}

const (
	startTimeout = time.Minute // to create the files and accept a connection
	stopTimeout  = 10 * time.Second
	logName      = "log"
	maxLog       = 2000 // bytes of it in an error
)

// instance is a server that starts, runs or ends.
type instance struct {
	kind
	dir       string
	temporary *tempdir.Dir
	owner     *syscall.Credential // nil: the user of this process
	server    *os.Process
	exited    chan struct{} // closed when the server has ended
}

func start(ctx context.Context, k kind) (*Server, error) {
	install, serve, err := k.find()
	if err != nil {
		return nil, err
	}
	_, _ = tempdir.Clean("", tempdir.Server) // best effort
	dir, err := tempdir.New("", tempdir.Server)
	if err != nil {
		return nil, err
	}
	i := &instance{kind: k, dir: dir.Path, temporary: dir, exited: make(chan struct{})}
	if err := i.start(ctx, install, serve); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, errors.Join(err, i.stop())
	}
	return &Server{DSN: k.dsn(i.dir), Dir: i.dir, stop: i.stop}, nil
}

func (i *instance) start(ctx context.Context, install, serve string) error {
	if err := i.chooseOwner(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	files := i.command(install, i.install(i.dir)...)
	if out, err := i.output(ctx, files); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(install), err, end(out))
	}
	log, err := os.Create(filepath.Join(i.dir, logName))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	server := i.command(serve, i.serve(i.dir)...)
	server.Stdout, server.Stderr = log, log
	endWithParent(server.SysProcAttr, i.end())
	started := make(chan error)
	go func() {
		// The kernel signals a child when the thread that started it ends, so this thread must live.
		runtime.LockOSThread()
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait() // the log is more useful than the exit code
			close(i.exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	i.server = server.Process
	return i.wait(ctx, filepath.Base(serve))
}

// wait returns when the server accepts connections.
func (i *instance) wait(ctx context.Context, name string) error {
	for {
		err := i.answers(ctx, i.dsn(i.dir))
		if err == nil {
			return nil
		}
		select {
		case <-i.exited:
			out, _ := os.ReadFile(filepath.Join(i.dir, logName))
			return fmt.Errorf("%s has ended: %s", name, end(out))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", name, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end returns the end of a program's output.
func end(out []byte) string {
	return strings.TrimSpace(string(out[max(len(out)-maxLog, 0):]))
}

func (i *instance) stop() error {
	if i.server != nil {
		_ = i.server.Signal(i.end()) // an error means that it has ended
		select {
		case <-i.exited:
		case <-time.After(stopTimeout):
			_ = i.server.Kill()
			<-i.exited
		}
	}
	return i.temporary.Remove()
}

// output runs a program and its children in a process group that is killed with ctx.
func (i *instance) output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	group := cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	err := cmd.Wait()
	if !stop() {
		err = context.Cause(ctx)
	}
	return []byte(out.String()), err
}

func (i *instance) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...) //nolint:gosec // a program that find has found
	cmd.Dir = i.dir                    // the owner may have no access to the working directory
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+i.dir)
	// In its own process group: Ctrl-C in the terminal reaches only this process, which then stops the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.owner, Setpgid: true}
	return cmd
}

// chooseOwner gives the folder to an unprivileged account if this process runs as root, because servers refuse to run
// as root.
func (i *instance) chooseOwner() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range append(i.users(), "nobody") {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
		i.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return os.Chown(i.dir, int(uid), int(gid))
	}
	return fmt.Errorf("the server refuses to run as root, and there is no user %s or nobody", strings.Join(i.users(), ", "))
}
