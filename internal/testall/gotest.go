package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
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

// fuzz runs the fuzz targets in order: the go command runs only one at a time.
func (g goTester) fuzz(ctx context.Context, s suite, args []string) (code int, err error) {
	var list bytes.Buffer
	code, err = g.run(ctx, s.module, append([]string{"test", "-list=^Fuzz"}, s.packages...), &list)
	if code != 0 || err != nil {
		_, _ = g.stdout.Write(list.Bytes()) // with the reason
		return code, err
	}
	for _, target := range parseTargets(list.String()) {
		one, err := g.run(ctx, s.module, slices.Concat(args, []string{
			"-run=^$", "-fuzz=^" + target.name + "$", "-fuzztime=" + g.opts.fuzz, target.pkg,
		}), g.stdout)
		if code == 0 {
			code = one
		}
		if err != nil || ctx.Err() != nil {
			return code, err
		}
	}
	return code, nil
}

type fuzzTarget struct{ pkg, name string }

// parseTargets reads the output of "go test -list": the names of the targets of a package, then a line with its path.
func parseTargets(list string) []fuzzTarget {
	var targets []fuzzTarget
	var names []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) > 1 && fields[0] == "ok":
			for _, name := range names {
				targets = append(targets, fuzzTarget{pkg: fields[1], name: name})
			}
			names = nil
		}
	}
	return targets
}

// checkCompiler returns an error if cgo is off, which the SQLite driver needs.
func (g goTester) checkCompiler(ctx context.Context) error {
	var out bytes.Buffer
	cmd := g.command(ctx, ".", []string{"env", "CGO_ENABLED"})
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	if strings.TrimSpace(out.String()) == "0" {
		return errors.New("SQLite needs cgo: install a C compiler such as gcc or clang, and unset CGO_ENABLED")
	}
	return nil
}

// run prints the command, runs it and returns its exit code. It returns an error if the command does not run.
func (g goTester) run(ctx context.Context, module string, args []string, stdout io.Writer) (code int, err error) {
	fmt.Fprintf(g.stdout, "\n%s: go %s\n", module, strings.Join(args, " "))
	cmd := g.command(ctx, module, args)
	cmd.Stdout = stdout
	cmd.Stderr = g.stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil {
		return max(cmd.ProcessState.ExitCode(), 1), nil // ExitCode is -1 after a signal
	}
	return 0, err
}

func (g goTester) command(ctx context.Context, module string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(g.root, filepath.FromSlash(module))
	cmd.Env = g.env
	cmd.WaitDelay = stopTimeout
	interruptTogether(cmd)
	return cmd
}
