package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

// scenario is an event that may make a generator issue an ID twice.
type scenario struct {
	name, title string
	first       spec
	second      spec // a process that runs with the first, or after it; none if it draws nothing
	together    bool
	back        bool // the clock is set back before the second
	share       bool // what counts is the share of the most frequent remainder of 16
}

const pace = 500 * time.Microsecond

// startup is more than most processes take until their first ID. A clock is set back by that much more.
const startup = 400 * time.Millisecond

// downtime is less than a supervisor takes to start a process again. Without it some would repeat IDs of their last
// tick.
const downtime = 30 * time.Millisecond

func scenarios() []scenario {
	one := spec{Workers: []int{1}, Count: 1200, Pace: pace, Numbered: true}
	burst := spec{Workers: []int{1}, Count: 100_000, Crash: true}
	after := spec{Workers: []int{1}, Count: 20_000}
	sparse := spec{Workers: []int{1}, Count: 400, Pace: 2500 * time.Microsecond}
	even := sparse
	even.Even = true
	numbers := make([]int, 1024)

	for i := range numbers {
		numbers[i] = i
	}

	return []scenario{
		{
			name: "instances", title: "two generators with one number in a process",
			first: spec{Workers: []int{1, 1}, Count: 2000},
		},
		{name: "processes", title: "two processes with one number", together: true, first: one, second: one},
		{
			name: "restart", title: "a restart, the clock set back to the first start", first: one, second: one,
			back: true,
		},
		{name: "crash", title: "a burst of 100,000, a crash and a restart", first: burst, second: after},
		{
			name: "workers", title: "1,024 numbers (yitter: 10 and 12 bits), 100 IDs each",
			first: spec{Workers: numbers, Count: 100 * len(numbers)},
		},
		{
			name: "end", title: "the end of the time bits",
			first: spec{Workers: []int{1}, Count: 800, Pace: pace, Left: 400 * time.Millisecond},
		},
		{name: "remainder", title: "most frequent value of id % 16, 400 IDs a second", share: true, first: sparse},
		{name: "remainder-even", title: "the same with WithRandomStart", share: true, first: even},
	}
}

// result is what a library does in a scenario.
type result struct {
	Event, Library string
	IDs            int
	Duplicates     int // IDs that were issued before
	Negative       int
	Failed         int     // calls
	LongestMS      int64   // the longest call
	Share          float64 // percent of the most frequent remainder of 16
	Error          string  // the first
}

// run puts all libraries through the scenario at once: most of the time they wait.
func (s scenario) run(ctx context.Context) ([]result, error) {
	all := libraries()
	results, faults := make([]result, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, l := range all {
		results[i].Event, results[i].Library = s.title, l.name
		if l.even || !s.first.Even {
			group.Go(func() { results[i], faults[i] = s.try(ctx, l) })
		}
	}

	group.Wait()
	return results, errors.Join(faults...)
}

// try puts one library through the scenario.
func (s scenario) try(ctx context.Context, l library) (r result, err error) {
	folder, err := os.MkdirTemp("", "peers")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	specs := []spec{s.first}
	if s.second.Count > 0 {
		specs = append(specs, s.second)
	}

	for i := range specs {
		specs[i].Library, specs[i].Folder = l.name, folder
	}

	var all []drawn
	for len(specs) > 0 {
		now := specs[:1]
		if s.together {
			now = specs
		}

		specs = specs[len(now):]
		if len(all) > 0 {
			time.Sleep(downtime)
			if s.back {
				now[0].Back = time.Since(all[0].Began) + startup
			}
		}

		ids, err := drawTogether(ctx, now)
		if err != nil {
			return r, err
		}

		all = append(all, ids...)
	}

	return s.count(l, all), nil
}

func (s scenario) count(l library, all []drawn) result {
	r := result{Event: s.title, Library: l.name}
	seen, remainders := map[int64]bool{}, make([]int, 16)
	for _, one := range all {
		r.IDs += len(one.IDs)
		r.Failed += one.Failed
		r.LongestMS = max(r.LongestMS, one.Longest.Milliseconds())
		for _, id := range one.IDs {
			seen[id] = true
			remainders[uint64(id)%16]++
			if id < 0 {
				r.Negative++
			}
		}

		if r.Error == "" {
			r.Error = one.Error
		}
	}

	r.Duplicates = r.IDs - len(seen)
	if s.share && r.IDs > 0 {
		r.Share = 100 * float64(slices.Max(remainders)) / float64(r.IDs)
	}

	return r
}

// waited is the longest call, in ms, that the table does not mention.
const waited = 500

// cell returns the text for the table, "–" if the library issued nothing.
func (r result) cell() string {
	if r.IDs == 0 {
		return "–"
	}
	if r.Share > 0 {
		return strconv.FormatFloat(r.Share, 'f', 0, 64) + " %"
	}

	text := thousands(r.Duplicates)
	if r.Duplicates > 0 {
		text += " of " + thousands(r.IDs)
	}
	if r.Negative > 0 {
		text += ", " + thousands(r.Negative) + " negative"
	}

	switch {
	case r.Failed > 0:
		text += ", returns an error"
	case r.Error != "":
		text += ", one is refused"
	}

	if r.LongestMS >= waited {
		text += fmt.Sprintf(", waits %.1f s", float64(r.LongestMS)/1000)
	}

	return text
}

func thousands(n int) string { return document.Number(float64(n), 0) }
