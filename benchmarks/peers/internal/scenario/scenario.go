// Package scenario puts generators of other libraries and of this one through events that may give an ID twice. Each
// generator is in a process of its own, used as its documentation says.
package scenario

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/internal/tempdir"
)

// Scenario is an event.
type Scenario struct {
	Name, Title string
	first       spec
	second      spec // of a process that runs beside the first or after it; none if it draws nothing
	together    bool
	back        bool // the clock is set back before the second
	share       bool // what counts is the share of the most frequent remainder of 16
}

const pace = 500 * time.Microsecond

// startup is more than most processes take until their first ID. A clock is set back by that much more.
const startup = 400 * time.Millisecond

// downtime is less than a supervisor takes to start a process again. Without it some would repeat IDs of their last tick.
const downtime = 30 * time.Millisecond

// All returns all scenarios.
func All() []Scenario {
	one := spec{Workers: []int{1}, Count: 1200, Pace: pace, Numbered: true}
	burst := spec{Workers: []int{1}, Count: 100_000, Crash: true}
	after := spec{Workers: []int{1}, Count: 20_000}
	numbers := make([]int, 1024)
	for i := range numbers {
		numbers[i] = i
	}
	return []Scenario{
		{Name: "instances", Title: "two generators with one number in a process", first: spec{Workers: []int{1, 1}, Count: 2000}},
		{
			Name: "processes", Title: "two processes with one number", together: true,
			first: one, second: one,
		},
		{Name: "restart", Title: "a restart, the clock set back to the first start", first: one, second: one, back: true},
		{Name: "crash", Title: "a burst of 100,000, a crash and a restart", first: burst, second: after},
		{Name: "workers", Title: "1,024 numbers (yitter: 10 and 12 bits), 100 IDs each", first: spec{Workers: numbers, Count: 100 * len(numbers)}},
		{
			Name: "end", Title: "the end of the time bits",
			first: spec{Workers: []int{1}, Count: 800, Pace: pace, Left: 400 * time.Millisecond},
		},
		{
			Name: "remainder", Title: "most frequent value of id % 16, 400 IDs a second", share: true,
			first: spec{Workers: []int{1}, Count: 400, Pace: 2500 * time.Microsecond},
		},
		{
			Name: "remainder-even", Title: "the same with WithRandomStart", share: true,
			first: spec{Workers: []int{1}, Count: 400, Pace: 2500 * time.Microsecond, Even: true},
		},
	}
}

// Cases returns the scenarios as cases whose kinds are the libraries.
func Cases() []bench.Case {
	var all []bench.Case
	for _, s := range All() {
		var libraries []Library
		c := bench.Case{Scenario: s.Name, Title: s.Title, Rounds: 1, Takes: 3 * time.Second}
		for _, l := range Libraries() {
			if l.even || !s.first.Even {
				libraries, c.Kinds = append(libraries, l), append(c.Kinds, l.Name)
			}
		}
		c.Run = func(ctx context.Context, _ int, _ func(time.Duration)) (map[string]bench.Result, error) {
			results, faults := make([]bench.Result, len(libraries)), make([]error, len(libraries))
			var group sync.WaitGroup
			for i, l := range libraries { // most of the time they wait
				group.Go(func() { results[i].Values, results[i].Note, faults[i] = s.Run(ctx, l) })
			}
			group.Wait()
			found := map[string]bench.Result{}
			for i, l := range libraries {
				found[l.Name] = results[i]
			}
			return found, errors.Join(faults...)
		}
		all = append(all, c)
	}
	return all
}

// Run puts one library through the scenario. Its values are "ids", "duplicates", "negative", "failed" calls, the "longest"
// call in ms, and "share" in percent.
func (s Scenario) Run(ctx context.Context, l Library) (values map[string]float64, note string, err error) {
	folder, err := tempdir.New("", tempdir.Files)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if left := folder.Remove(); err == nil {
			err = left
		}
	}()
	specs := []spec{s.first}
	if s.second.Count > 0 {
		specs = append(specs, s.second)
	}
	for i := range specs {
		specs[i].Library, specs[i].Folder = l.Name, folder.Path
	}
	var all []drawn
	if s.together {
		if all, err = drawTogether(ctx, specs); err != nil {
			return nil, "", err
		}
	} else {
		for i, one := range specs {
			if i > 0 {
				time.Sleep(downtime)
			}
			if i > 0 && s.back {
				one.Back = time.Since(all[0].Began) + startup
			}
			d, err := drawTogether(ctx, []spec{one})
			if err != nil {
				return nil, "", err
			}
			all = append(all, d...)
		}
	}
	values, note = s.count(all)
	return values, note, nil
}

// count returns the values, none if no generator could be opened, and the first error.
func (s Scenario) count(all []drawn) (values map[string]float64, note string) {
	seen, remainders := map[int64]bool{}, make([]int, 16)
	values = map[string]float64{"ids": 0, "negative": 0, "failed": 0, "longest": 0}
	for _, one := range all {
		values["ids"] += float64(len(one.IDs))
		values["failed"] += float64(one.Failed)
		values["longest"] = max(values["longest"], float64(one.Longest.Milliseconds()))
		for _, id := range one.IDs {
			seen[id] = true
			remainders[uint64(id)%16]++
			if id < 0 {
				values["negative"]++
			}
		}
		if note == "" {
			note = one.Error
		}
	}
	if values["ids"] == 0 {
		return nil, note
	}
	values["duplicates"] = values["ids"] - float64(len(seen))
	if s.share {
		values["share"] = 100 * float64(slices.Max(remainders)) / values["ids"]
	}
	return values, note
}

// waited is the longest call, in ms, that a table mentions.
const waited = 500

// Cell returns the result as text for a table. It is "–" if there are no values.
func Cell(r measure.Record) string {
	v := r.Values
	number := func(name string) string { return document.Number(v[name], 0) }
	if share, ok := v["share"]; ok {
		return strconv.FormatFloat(share, 'f', 0, 64) + " %"
	}
	if len(v) == 0 {
		return "–"
	}
	text := number("duplicates")
	if v["duplicates"] > 0 {
		text += " of " + number("ids")
	}
	if v["negative"] > 0 {
		text += ", " + number("negative") + " negative"
	}
	switch {
	case v["failed"] > 0:
		text += ", returns an error"
	case r.Note != "":
		text += ", one is refused"
	}
	if v["longest"] >= waited {
		text += ", waits " + strconv.FormatFloat(v["longest"]/1000, 'f', 1, 64) + " s"
	}
	return text
}

// find returns the library with a name.
func find(name string) Library {
	all := append(Libraries(), databases()...)
	return all[slices.IndexFunc(all, func(l Library) bool { return strings.EqualFold(l.Name, name) })]
}
