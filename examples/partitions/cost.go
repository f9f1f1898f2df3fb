package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// gauge reads the number of rows of a table, and in bytes its size and what was written to the log so far.
type gauge struct{ rows, size, log func() (int64, error) }

// reading is what a gauge shows.
type reading struct{ rows, size, log int64 }

func (g gauge) read() (r reading, err error) {
	if r.rows, err = g.rows(); err != nil {
		return r, err
	}
	if r.size, err = g.size(); err != nil {
		return r, err
	}
	r.log, err = g.log() // last: the others may write
	return r, err
}

// cost is what a removal of rows took.
type cost struct {
	way           string
	before, after reading
	time          time.Duration
}

// measure returns the cost of a removal.
func (g gauge) measure(way string, remove func() error) (c cost, err error) {
	c.way = way
	if c.before, err = g.read(); err != nil {
		return c, err
	}
	start := time.Now()
	if err := remove(); err != nil {
		return c, err
	}
	c.time = time.Since(start)
	log, err := g.log()
	if err != nil {
		return c, err
	}
	c.after, err = g.read()
	c.after.log = log
	return c, err
}

// compare prints costs as a table.
func (e *example) compare(log string, costs ...cost) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\trows before\tafter\ttime\t%s\tsize before\tafter\t\n", log)
	for _, c := range costs {
		fmt.Fprintf(w, "%s\t%d\t%d\t%v\t%d B\t%d kB\t%d kB\t\n", c.way, c.before.rows, c.after.rows,
			c.time.Round(10*time.Microsecond), c.after.log-c.before.log, c.before.size/1024, c.after.size/1024)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	e.print(text.String())
	return nil
}
