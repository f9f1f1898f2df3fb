package main

import (
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// contender is a rule, and what starts a process with it.
type contender struct {
	name  string
	start func(h *host) (process, error)
}

// schedule is what happens to the contenders.
type schedule struct {
	name       string
	rounds     []round
	contenders []contender
}

// round is a part of a schedule, on one of two machines. If no process runs there, one is started.
type round struct {
	machine int
	back    time.Duration // by which the wall clock is set back before
	calls   int
	pause   time.Duration // after each call
	end     ending
	away    time.Duration // after the end
}

// ending is what becomes of the process after a round.
type ending int

const (
	runs ending = iota
	stops
	crashes
)

func schedules() []schedule {
	const ms = time.Millisecond
	restart := []round{{back: 2 * time.Second, calls: 2000, pause: ms, end: stops}}
	burst := []round{{calls: 60_000, pause: ms / 10_000, end: crashes, away: 5 * ms}}

	refuse := contender{"error at a step back", classic}
	swap := contender{"wait below 15 ms, else another worker", swapping}
	random := contender{"random start of the sequence", randomStart}
	plain := contender{"**sqlflake**, leased workers", shared()}
	all := []contender{
		refuse, swap, random,
		{"another of 16 clocks", clocks},
		{"historical time", history},
		{"batches ahead, a number for each start", batches},
		{"**sqlflake**, a state file", stateFile},
		{"**sqlflake**, 16 leased workers", sixteen},
	}
	return []schedule{
		{"steps back of 10 ms and 2 s while it runs", []round{
			{calls: 3000, pause: ms},
			{back: 10 * ms, calls: 3000, pause: ms},
			{back: 2 * time.Second, calls: 3000, pause: ms},
		}, all},
		{"3 restarts into the same 2 s", slices.Repeat(restart, 4), all},
		{"18 restarts into the same 2 s", slices.Repeat(restart, 19), all},
		{"2 workers for 2 machines, one 1.5 s behind", []round{
			{calls: 2000, pause: ms},
			{back: time.Second, calls: 100, pause: ms},
			{machine: 1, back: 1500 * ms, calls: 2000, pause: ms},
		}, []contender{swap, plain}},
		{"60,000 IDs in 6 ms, a crash, the same again", slices.Repeat(burst, 2), all},
		{"500,000 IDs", []round{{calls: 500_000, pause: ms / 1000}}, []contender{{"random numbers up to 10^10", randomNumbers}, plain}},
		{"400 IDs a second", []round{{calls: 300_000, pause: time.Second / 400}}, []contender{
			refuse, random, plain, {"**sqlflake**, `WithRandomStart`", shared(snowflake.WithRandomStart())},
		}},
	}
}
