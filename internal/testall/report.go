package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/skip"
)

// report prints what "go test -json" reports: a line for each package, and the output of failed tests. On a terminal it
// shows the progress below.
type report struct {
	out     io.Writer
	output  map[string][]byte // of tests without a result
	passed  int
	skipped map[string][]string // the names of tests by the reason

	terminal    bool
	total, done int                  // packages
	running     map[string]time.Time // packages by the time of their start
}

// event is a line of "go test -json", see "go doc test2json".
type event struct{ Action, Package, Test, Output string }

func newReport(out io.Writer, packages int) *report {
	return &report{
		out: out, output: map[string][]byte{}, skipped: map[string][]string{},
		total: packages, running: map[string]time.Time{},
	}
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// read runs the command, prints its results until an interrupt, and returns its exit code.
func (r *report) read(interrupted context.Context, cmd *exec.Cmd) (code int, err error) {
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}

	events := make(chan event)
	go func() {
		defer close(events)
		decoder := json.NewDecoder(lines)
		for {
			var e event
			if err = decoder.Decode(&e); err != nil {
				return
			}
			events <- e
		}
	}()
	r.follow(interrupted, events)
	_, _ = io.Copy(r.out, lines) // what was no JSON, if anything

	waited := cmd.Wait()
	var failed *exec.ExitError
	switch {
	case errors.As(waited, &failed):
		return max(failed.ExitCode(), 1), nil // -1 after a signal
	case waited != nil || !errors.Is(err, io.EOF):
		return 0, errors.Join(waited, err)
	default:
		return 0, nil
	}
}

// follow adds the events until there are no more, and shows the progress once a second. After an interrupt it prints
// nothing: the output of each unfinished test would follow.
func (r *report) follow(interrupted context.Context, events <-chan event) {
	second := time.NewTicker(time.Second)
	defer second.Stop()

	for {
		select {
		case e, more := <-events:
			if !more {
				r.print("")
				return
			}
			r.add(e)
		case <-second.C:
			r.showProgress()
		case <-interrupted.Done():
			r.print("")
			r.out, interrupted = io.Discard, context.Background()
		}
	}
}

// showProgress writes over the last line of the terminal, which print removes.
func (r *report) showProgress() {
	if !r.terminal {
		return
	}

	status := fmt.Sprintf("%d of %d packages", r.done, r.total)
	slowest := ""
	for pkg, start := range r.running {
		if slowest == "" || start.Before(r.running[slowest]) {
			slowest = pkg
		}
	}

	if slowest != "" {
		took := time.Since(r.running[slowest]).Round(time.Second)
		status += fmt.Sprintf(", longest now: %s, %v", short(slowest), took)
	}
	r.print(status)
}

func (r *report) print(text string) {
	if r.terminal {
		text = "\r\x1b[K" + text
	}
	fmt.Fprint(r.out, text)
}

func short(name string) string { return strings.TrimPrefix(name, root+"/") }

func (r *report) add(e event) {
	if e.Test == "" {
		r.addPackage(e)
		return
	}

	name := e.Package + "." + e.Test
	switch e.Action {
	case "output":
		r.output[name] = append(r.output[name], e.Output...)
		return
	case "skip":
		why := reason(string(r.output[name]))
		r.skipped[why] = append(r.skipped[why], short(name))
	case "fail":
		r.print(string(r.output[name]))
	case "pass":
		r.passed++
	default:
		return
	}
	delete(r.output, name)
}

// addPackage adds an event of a whole package.
func (r *report) addPackage(e event) {
	switch e.Action {
	case "start":
		r.running[e.Package] = time.Now()
	case "output", "build-output":
		if e.Output != "PASS\n" {
			r.print(e.Output)
		}
	case "fail":
		for _, test := range slices.Sorted(maps.Keys(r.output)) {
			if strings.HasPrefix(test, e.Package+".") { // a program that has crashed leaves tests without a result
				r.print(string(r.output[test]))
				delete(r.output, test)
			}
		}
		r.end(e.Package)
	case "pass", "skip":
		r.end(e.Package)
	}
}

func (r *report) end(pkg string) {
	delete(r.running, pkg)
	r.done++
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

		mark, allowed := "allowed: ", skip.Allowed(why)
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
