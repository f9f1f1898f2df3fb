//go:build unix

package dbserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 3 * time.Minute // to create the files and answer
	stopTimeout  = time.Minute
	maxLog       = 2000 // bytes of a log in an error
	maxSocket    = 103  // bytes of a socket's path on macOS; Linux has 107
)

// instance is one server process, from its start to its end.
type instance struct {
	kind
	dir    string
	env    []string
	owner  *syscall.Credential // nil: the user of this process
	server *os.Process
	exited chan struct{} // closed when the server has ended
}

func start(ctx context.Context, k kind, c Config) (*Server, error) {
	if c.Of != "" && k.clone != "" {
		k.install, k.installed = k.clone, func(data string) []string { return k.cloned(c.Of, data) }
	}

	install, serve, err := k.find(c.Folder)
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "sqlflake-srv-") // short, since the path of a socket in it is limited
	if err != nil {
		return nil, err
	}

	i := &instance{kind: k, dir: dir, env: c.Env, exited: make(chan struct{})}
	if err := i.start(ctx, install, serve, c); err != nil {
		return nil, errors.Join(context.Cause(ctx), err, i.stop())
	}

	return &Server{DSN: k.dsn(dir), Folder: dir, stop: i.stop}, nil
}

// checkSocket returns an error if a socket in the folder would have a path that a server or a driver refuses.
func (i *instance) checkSocket() error {
	n := len(i.dir + "/.s.PGSQL.5432")
	hasComma := strings.Contains(i.dir, ",") // at which PostgreSQL and its drivers split a list of folders
	if n <= maxSocket && !hasComma {
		return nil
	}
	return fmt.Errorf("the path of a socket in %s would have %d bytes; it may have %d and no comma: "+
		"set TMPDIR to another folder", i.dir, n, maxSocket)
}

func (i *instance) start(ctx context.Context, install, serve string, c Config) error {
	if err := i.checkSocket(); err != nil {
		return err
	}
	if err := i.chooseOwner(); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	data := filepath.Join(i.dir, "data")
	if i.configure != nil {
		if err := i.configure(i.dir, c.Of); err != nil {
			return err
		}
	} else if err := i.createFiles(ctx, install, data); err != nil {
		return err
	}

	log, err := os.Create(filepath.Join(i.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor

	if err := i.launch(log, serve, i.arguments(data, c)); err != nil {
		return err
	}
	return i.await(ctx, log, data)
}

// arguments returns the command line of the server for the data folder.
func (i *instance) arguments(data string, c Config) []string {
	args := i.serves(i.dir, data)
	if c.CacheMiB > 0 {
		args = append(args, fmt.Sprintf(i.cache, c.CacheMiB))
	}
	if c.NoSync {
		args = append(args, i.noSync...)
	}

	return append(args, c.Args...)
}

// launch starts the server, which ends with this process.
func (i *instance) launch(log *os.File, program string, args []string) error {
	server := i.command(context.Background(), program, args...)
	server.Stdout, server.Stderr = log, log
	// The kernel ends the server when this process dies, even by SIGKILL. Only Linux and FreeBSD have this field.
	if field := reflect.ValueOf(server.SysProcAttr).Elem().FieldByName("Pdeathsig"); field.IsValid() {
		field.SetInt(int64(i.end))
	}

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
	return nil
}

// await waits until the server answers.
func (i *instance) await(ctx context.Context, log *os.File, data string) error {
	for !i.ready(i.dir, data) {
		select {
		case <-i.exited:
			out, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s has ended: %s", i.serve, tail(out))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", i.serve, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}

	return nil
}

func (i *instance) createFiles(ctx context.Context, install, data string) error {
	files := i.command(ctx, install, i.installed(data)...)
	files.Cancel = func() error { return syscall.Kill(-files.Process.Pid, syscall.SIGKILL) } // its children too
	files.WaitDelay = time.Second
	if out, err := files.CombinedOutput(); errors.Is(err, fs.ErrPermission) && i.owner != nil {
		return fmt.Errorf("%w; user %s, as whom servers of root run, must have access to it and to %s",
			err, i.account, i.dir)
	} else if err != nil {
		return fmt.Errorf("%s: %w: %s", i.install, err, tail(out))
	}

	return nil
}

func (i *instance) stop() error {
	if i.server != nil {
		_ = i.server.Signal(i.end) // an error means that it has ended
		select {
		case <-i.exited:
		case <-time.After(stopTimeout):
			_ = i.server.Kill()
			<-i.exited
		}
	}

	return os.RemoveAll(i.dir)
}

func (i *instance) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = i.dir // the owner may have no access to the working directory
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "TMPDIR="+i.dir), i.env...)
	// In its own process group: Ctrl-C in the terminal reaches only this process, which then stops the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.owner, Setpgid: true}
	return cmd
}

// chooseOwner gives the folder to an unprivileged account if this process is root: servers refuse to run as root.
func (i *instance) chooseOwner() error {
	if os.Geteuid() != 0 || i.account == "" {
		return nil
	}

	account, err := user.Lookup(i.account)
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return fmt.Errorf("the server refuses to run as root, and there is no user %s or nobody", i.account)
		}
	}

	uid, _ := strconv.Atoi(account.Uid) // a number on Unix
	gid, _ := strconv.Atoi(account.Gid)
	i.account = account.Username
	i.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // such numbers have 32 bits
	return os.Chown(i.dir, uid, gid)
}

// tail returns the end of a program's output.
func tail(out []byte) string { return strings.TrimSpace(string(out[max(len(out)-maxLog, 0):])) }
