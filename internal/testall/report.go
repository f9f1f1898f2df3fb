package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/internal/skip"
)

// report prints what "go test -json" reports: a line for each package, and the output of failed tests.
type report struct {
	out     io.Writer
	output  map[string]*strings.Builder
	passed  int
	skipped map[string][]string // the names of tests by the reason
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
			why := reason(r.output[name].String())
			r.skipped[why] = append(r.skipped[why], strings.TrimPrefix(name, "github.com/sqlflake/sqlflake/"))
		}
	case "fail":
		for _, test := range slices.Sorted(maps.Keys(r.output)) {
			// A program that has crashed leaves tests without a result.
			if test == name || e.Test == "" && strings.HasPrefix(test, name) {
				fmt.Fprint(r.out, r.output[test])
				delete(r.output, test)
			}
		}
	case "pass":
		if e.Test != "" {
			r.passed++
		}
	default:
		return
	}
	delete(r.output, name)
}

var position = regexp.MustCompile(`^\S+\.go:\d+: `)

// reason returns the message of t.Skip from the output of a test.
func reason(output string) string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
	})
	return position.ReplaceAllString(strings.TrimSpace(strings.Join(lines, " ")), "")
}

const examples = 3 // of tests that were skipped for an allowed reason

// finish prints the skipped tests by their reason. It returns the number of those that a strict run does not allow.
func (r *report) finish() (bad int) {
	total, list := 0, strings.Builder{}
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		names := r.skipped[why]
		total += len(names)
		mark := "allowed: "
		allowed := skip.Allowed(why)
		if allowed == "" {
			bad += len(names)
			mark = "fails in CI"
		}
		fmt.Fprintf(&list, "%5d %s (%s%s)\n", len(names), why, mark, allowed)
		for i, name := range names {
			if i == examples && allowed != "" {
				fmt.Fprintln(&list, "        ...")
				break
			}
			fmt.Fprintf(&list, "        %s\n", name)
		}
	}
	fmt.Fprintf(r.out, "\n%d tests passed, %d skipped\n%s", r.passed, total, &list)
	return bad
}
