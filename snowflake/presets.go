package snowflake

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Default returns the layout that New uses: 41 bits of milliseconds since 2025-01-01, 1,024 workers, 4,096 IDs per
// millisecond and worker, until 2094-09-07.
func Default() Layout { return presets()["default"] }

// Wide returns a layout for leased workers: 256 workers with 16,384 IDs per millisecond each, four times the rate of
// Default, over the same years.
func Wide() Layout { return presets()["wide"] }

// JavaScriptSafe returns a layout of 53 bits, whose IDs never exceed Number.MAX_SAFE_INTEGER, 2^53 - 1 (ECMA-262,
// section 21.1.2.8): 41 bits of milliseconds since 2025-01-01, 16 workers, 256 IDs per millisecond and worker. It is
// for clients that need numbers in JSON; strings, which ID writes, need no such layout.
func JavaScriptSafe() Layout { return presets()["javascriptsafe"] }

// Twitter returns the layout of Twitter and X: milliseconds since 2010-11-04T01:42:54.657Z, 32 datacenters with 32
// workers each (twitter-archive/snowflake, IdWorker.scala, tag snowflake-2010). The worker is that of New; set the
// datacenter with WithField, or it is 0.
func Twitter() Layout { return presets()["twitter"] }

// Preset returns the layout with the given name: one of those above in lower case, or one of
//
//   - seconds: ticks of 1 s for rows that arrive in bulk; 136 years since 2025-01-01, 1,024 workers, 2,097,152 IDs per
//     second and worker. A generator may wait a second for its first ID.
//   - discord: milliseconds since 2015, a worker, a process and an increment (Discord's API reference, "Snowflakes").
//     Discord's numbers are unsigned; this layout has the lower 41 of its 42 time bits and ends in 2084.
//   - instagram: milliseconds since 2011-08-24T21:07:01.721Z, 8,192 shards, 1,024 IDs per millisecond and shard
//     ("Sharding & IDs at Instagram", 2012). The published function has 41 bits of time; without the sign bit 40 are
//     left, which end in 2046.
//   - sonyflake: sony/sonyflake version 1; 39 bits of 10 ms since 2014-09-01, the sequence above the machine, 65,536
//     machines. Version 2 counts from 2025-01-01: make that one with NewLayout.
//   - mastodon: Mastodon's statuses; Unix milliseconds and 16 bits that Mastodon fills with a hash plus a counter, here
//     a sequence (mastodon/mastodon, lib/mastodon/snowflake.rb). It has no worker.
//   - baidu: baidu/uid-generator; seconds since 2016-05-20 in China, 22 bits of worker, 13 of sequence. Its time ended
//     on 2024-11-20T13:24:16Z: New rejects it, but old IDs can be read.
//   - datacenter: Twitter's bits since 2021-01-01, with numbered datacenters. Set the datacenter with WithField, or it
//     is 0.
//   - resource: a region of 6 bits and a resource type of 14 below the time, then 4 machines with 8 IDs per millisecond
//     each; 38 bits of milliseconds since 2025-01-01, until 2033-09-17.
//   - manyworkers: 32,768 workers with 1,024 IDs per millisecond each, for services that take another worker when a
//     clock steps back. Generators of this package need no other one; a lease prefers workers whose horizon the clock
//     has passed. 38 bits of milliseconds since 2025-01-01, until 2033-09-17.
//   - multiclock: a clock field of 4 bits, for services that increment it when their clock steps back; milliseconds
//     since 2022-03-15, 256 workers, 1,024 IDs per millisecond. Generators of this package do not follow the clock back
//     and need no such field. Bits of a clock are bits of a worker: with "time:41 worker:12 sequence:10" and a lease of
//     one of the workers 16*k to 16*k+15, host k has 16 clocks with a stored horizon each, in the bits below k.
//
// Another name is an error that matches ErrLayout and lists these.
func Preset(name string) (Layout, error) {
	l, ok := presets()[name]
	if !ok {
		return Layout{}, layoutError("no preset %q, want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(presets())), ", "))
	}
	return l, nil
}

// presets returns the layouts by name. They are values behind functions because an exported variable could be changed.
var presets = sync.OnceValue(func() map[string]Layout {
	const ms = time.Millisecond
	since := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	twitter, instagram := time.UnixMilli(1288834974657), time.UnixMilli(1314220021721)
	china := since(2016, 5, 20).Add(-8 * time.Hour)
	return map[string]Layout{
		"default":        MustLayout(since(2025, 1, 1), ms, Field{"time", 41}, Field{"worker", 10}, Field{"sequence", 12}),
		"wide":           MustLayout(since(2025, 1, 1), ms, Field{"time", 41}, Field{"worker", 8}, Field{"sequence", 14}),
		"javascriptsafe": MustLayout(since(2025, 1, 1), ms, Field{"time", 41}, Field{"worker", 4}, Field{"sequence", 8}),
		"seconds":        MustLayout(since(2025, 1, 1), time.Second, Field{"time", 32}, Field{"worker", 10}, Field{"sequence", 21}),

		"twitter":   MustLayout(twitter, ms, Field{"time", 41}, Field{"datacenter", 5}, Field{"worker", 5}, Field{"sequence", 12}),
		"discord":   MustLayout(since(2015, 1, 1), ms, Field{"time", 41}, Field{"worker", 5}, Field{"process", 5}, Field{"sequence", 12}),
		"instagram": MustLayout(instagram, ms, Field{"time", 40}, Field{"shard", 13}, Field{"sequence", 10}),
		"sonyflake": MustLayout(since(2014, 9, 1), 10*ms, Field{"time", 39}, Field{"sequence", 8}, Field{"machine", 16}),
		"mastodon":  MustLayout(since(1970, 1, 1), ms, Field{"time", 47}, Field{"sequence", 16}),
		"baidu":     MustLayout(china, time.Second, Field{"time", 28}, Field{"worker", 22}, Field{"sequence", 13}),

		"datacenter":  MustLayout(since(2021, 1, 1), ms, Field{"time", 41}, Field{"datacenter", 5}, Field{"worker", 5}, Field{"sequence", 12}),
		"resource":    MustLayout(since(2025, 1, 1), ms, Field{"time", 38}, Field{"region", 6}, Field{"type", 14}, Field{"machine", 2}, Field{"sequence", 3}),
		"manyworkers": MustLayout(since(2025, 1, 1), ms, Field{"time", 38}, Field{"worker", 15}, Field{"sequence", 10}),
		"multiclock":  MustLayout(since(2022, 3, 15), ms, Field{"time", 41}, Field{"clock", 4}, Field{"worker", 8}, Field{"sequence", 10}),
	}
})
