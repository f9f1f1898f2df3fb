package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// childArg is the first argument of a process that draws IDs.
const childArg = "draw-ids"

// spec is what a child process does: it opens a generator for each worker and draws from one after the other.
type spec struct {
	Library string
	Workers []int
	Count   int           // IDs
	Pace    time.Duration // between two calls
	Back    time.Duration // how far the clock was set back
	Left    time.Duration // until the time bits are used up; 0: as by default
	Crash   bool          // it waits to be killed
	Even    bool          // with the option for even remainders, if the library has one

	Folder   string // for leases
	Numbered bool   // leases take the worker number, not any
}

// drawn is what a child process has drawn.
type drawn struct {
	IDs     []int64
	Failed  int    // calls
	Error   string // the first; without calls the error of opening the generator
	Longest time.Duration
	Began   time.Time // drawing
}

// runChild draws IDs and returns true if this process was started for that. The main function of a program that runs
// scenarios must call it first.
func runChild() bool {
	if len(os.Args) != 2 || os.Args[1] != childArg {
		return false
	}

	var s spec
	orders := bufio.NewReader(os.Stdin)
	line, err := orders.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err == nil {
		err = s.draw(orders, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	return true
}

// draw opens the generators, says so, waits for a line, and writes what it has drawn.
func (s spec) draw(orders *bufio.Reader, out io.Writer) error {
	ctx := context.Background()
	var result drawn
	var sources []source
	for _, worker := range s.Workers {
		one, err := s.library().open(ctx, s, worker)
		if err != nil {
			result.Error = err.Error()
			break
		}
		sources = append(sources, one)
	}

	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := orders.ReadString('\n'); err != nil {
		return err
	}

	if result.Error == "" {
		result.take(s, sources)
	}

	if err := json.NewEncoder(out).Encode(result); err != nil {
		return err
	}
	if s.Crash {
		_, err := orders.ReadString('\n') // never comes
		return err
	}

	var err error
	for _, one := range sources {
		if one.end != nil {
			err = errors.Join(err, one.end())
		}
	}

	return err
}

func (d *drawn) take(s spec, sources []source) {
	d.Began = time.Now()
	d.IDs = make([]int64, 0, s.Count)
	last := d.Began
	for i := range s.Count {
		id, err := sources[i%len(sources)].next()
		now := time.Now()
		if d.Longest = max(d.Longest, now.Sub(last)); err == nil {
			d.IDs = append(d.IDs, id)
		} else if d.Failed++; d.Error == "" {
			d.Error = err.Error()
		}

		if s.Pace > 0 {
			time.Sleep(s.Pace)
			now = time.Now()
		}

		last = now
	}
}

// process is a running child.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	s   spec
}

// start starts a child and waits until its generators are open.
func start(ctx context.Context, s spec) (p process, err error) {
	program, err := os.Executable()
	if err != nil {
		return p, err
	}

	cmd := exec.CommandContext(ctx, program, childArg)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return p, err
	}

	p = process{cmd, in, bufio.NewReader(out), s}
	if err := json.NewEncoder(p.in).Encode(s); err != nil {
		return p, errors.Join(err, p.cmd.Wait())
	}

	if _, err := p.out.ReadString('\n'); err != nil {
		return p, errors.Join(fmt.Errorf("%s: %w", s.Library, err), p.cmd.Wait())
	}

	return p, nil
}

// draw lets the child draw, and waits for its end, which is a crash if the spec says so.
func (p process) draw() (d drawn, err error) {
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		return d, errors.Join(err, p.cmd.Wait())
	}

	err = json.NewDecoder(p.out).Decode(&d)
	if p.s.Crash {
		err = errors.Join(err, p.cmd.Process.Kill())
		_ = p.cmd.Wait() // says that it was killed
		return d, err
	}

	return d, errors.Join(err, p.cmd.Wait())
}

// drawTogether starts the children, lets them draw at once, and waits for their ends.
func drawTogether(ctx context.Context, specs []spec) ([]drawn, error) {
	running, all, faults := make([]process, len(specs)), make([]drawn, len(specs)), make([]error, len(specs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // kills those that a failed start leaves behind

	var group sync.WaitGroup
	for i, s := range specs {
		group.Go(func() { running[i], faults[i] = start(ctx, s) })
	}

	group.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}

	for i, p := range running {
		group.Go(func() { all[i], faults[i] = p.draw() })
	}

	group.Wait()
	return all, errors.Join(faults...)
}
