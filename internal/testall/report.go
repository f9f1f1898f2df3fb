package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// report prints what "go test -json" reports: a line for each package, and the output of failed tests.
type report struct {
	out     io.Writer
	output  map[string]*strings.Builder
	skipped []string
}

// event is a line of "go test -json", see "go doc test2json".
type event struct{ Action, Package, Test, Output string }

// read runs the command, prints its results and returns its exit code.
func (r *report) read(cmd *exec.Cmd) (code int, err error) {
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	for decoder := json.NewDecoder(lines); ; {
		var e event
		if err = decoder.Decode(&e); err != nil {
			break
		}
		r.add(e)
	}
	_, _ = io.Copy(r.out, lines) // what was no JSON, if anything
	var failed *exec.ExitError
	if waited := cmd.Wait(); errors.As(waited, &failed) {
		return max(failed.ExitCode(), 1), nil // -1 after a signal
	} else if waited != nil || !errors.Is(err, io.EOF) {
		return 0, errors.Join(waited, err)
	}
	return 0, nil
}

func (r *report) add(e event) {
	name := e.Package + "." + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test != "" {
			if r.output[name] == nil {
				r.output[name] = &strings.Builder{}
			}
			r.output[name].WriteString(e.Output)
		} else if e.Output != "PASS\n" {
			fmt.Fprint(r.out, e.Output)
		}
		return
	case "skip":
		if e.Test != "" {
			r.skipped = append(r.skipped, name+": "+reason(r.output[name].String()))
		}
	case "fail":
		if r.output[name] != nil {
			fmt.Fprint(r.out, r.output[name])
		}
	case "pass":
	default:
		return
	}
	delete(r.output, name)
}

// reason returns the message of t.Skip from the output of a test.
func reason(output string) string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
	})
	return strings.TrimSpace(strings.Join(lines, " "))
}

func (r *report) printSkipped() {
	if len(r.skipped) > 0 {
		fmt.Fprintf(r.out, "\n%d skipped:\n  %s\n", len(r.skipped), strings.Join(r.skipped, "\n  "))
	}
}
