package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	longTimeout = time.Hour        // of a package's tests with -long; go test's own default is ten minutes
	stopTimeout = 30 * time.Second // between an interrupt and a kill of the tests
)

// goTester runs the go command.
type goTester struct {
	root           string
	env            []string
	opts           options
	stdout, stderr io.Writer
}

// test runs the tests of a suite, or its fuzz targets, and returns the exit code of the first go command that failed.
func (g goTester) test(ctx context.Context, s suite) (code int, err error) {
	args := []string{"test"}
	if g.opts.race {
		args = append(args, "-race")
	}
	if g.opts.verbose {
		args = append(args, "-v")
	}
	if g.opts.fuzz != "" {
		return g.fuzz(ctx, s, args)
	}
	if g.opts.long {
		args = append(args, "-timeout="+longTimeout.String())
	}
	return g.run(ctx, s.module, append(args, s.packages...), g.stdout)
}

// checkCompiler returns an error if cgo is off, which the SQLite driver needs.
func (g goTester) checkCompiler(ctx context.Context) error {
	enabled, err := g.goEnv(ctx, "CGO_ENABLED")
	if err != nil {
		return err
	}
	if enabled == "0" {
		return errors.New("SQLite needs cgo: install a C compiler such as gcc or clang, and unset CGO_ENABLED")
	}
	return nil
}

func (g goTester) goEnv(ctx context.Context, name string) (string, error) {
	var out bytes.Buffer
	cmd := g.command(ctx, ".", "go", "env", name)
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// run prints a go command, runs it and returns its exit code. It returns an error if the command does not run.
func (g goTester) run(ctx context.Context, module string, args []string, stdout io.Writer) (code int, err error) {
	fmt.Fprintf(g.stdout, "\n%s: go %s\n", module, strings.Join(args, " "))
	return g.exitCode(ctx, g.command(ctx, module, "go", args...), stdout)
}

func (g goTester) exitCode(ctx context.Context, cmd *exec.Cmd, stdout io.Writer) (code int, err error) {
	cmd.Stdout = stdout
	cmd.Stderr = g.stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil {
		return max(cmd.ProcessState.ExitCode(), 1), nil // ExitCode is -1 after a signal
	}
	return 0, err
}

func (g goTester) command(ctx context.Context, module, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(g.root, filepath.FromSlash(module))
	cmd.Env = g.env
	cmd.WaitDelay = stopTimeout
	interruptTogether(cmd)
	return cmd
}
