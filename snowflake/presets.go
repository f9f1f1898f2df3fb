package snowflake

import "sync"

// Default returns the layout that New uses: 41 bits of milliseconds since
// 2025-01-01, 1,024 workers, 4,096 IDs a millisecond and worker, until
// 2094-09-07.
func Default() Layout { return presets()["default"] }

// Wide returns the layout for workers that are leased rather than numbered by
// hand: 256 workers with 16,384 IDs a millisecond each, four times the rate of
// Default, over the same years.
func Wide() Layout { return presets()["wide"] }

// JavaScriptSafe returns a layout of 53 bits, whose IDs never exceed
// Number.MAX_SAFE_INTEGER, 2^53 - 1 (ECMA-262, section 21.1.2.8): 41 bits of
// milliseconds since 2025-01-01, 16 workers, 256 IDs a millisecond and worker.
// It is for clients that insist on numbers; JSON strings need no such layout.
func JavaScriptSafe() Layout { return presets()["javascriptsafe"] }

// Seconds returns a layout with ticks of a second, for rows that arrive in
// bulk: 136 years since 2025-01-01, 1,024 workers, 2,097,152 IDs a second and
// worker. A generator may wait a second for its first ID.
func Seconds() Layout { return presets()["seconds"] }

// Twitter returns the layout of Twitter and X: milliseconds since
// 2010-11-04T01:42:54.657Z, 32 datacenters, 32 workers in each
// (twitter-archive/snowflake, IdWorker.scala, tag snowflake-2010). The worker is
// that of New; say which datacenter with WithField, or it is 0 everywhere.
func Twitter() Layout { return presets()["twitter"] }

// Discord returns Discord's layout: milliseconds since 2015, a worker, a process
// and an increment (Discord's API reference, "Snowflakes"). Discord's numbers
// are unsigned; this layout has the lower 41 of its 42 time bits and so ends in
// 2084.
func Discord() Layout { return presets()["discord"] }

// Instagram returns Instagram's layout: milliseconds since
// 2011-08-24T21:07:01.721Z, 8,192 shards, 1,024 IDs a millisecond and shard
// ("Sharding & IDs at Instagram", 2012). The published function shifts 41 bits
// of time to the very top; without the sign bit 40 are left, which end in 2046.
func Instagram() Layout { return presets()["instagram"] }

// Sonyflake returns the default layout of sony/sonyflake, version 1: 39 bits of
// 10 ms since 2014-09-01, the sequence above the machine, 65,536 machines.
// Version 2 counts from 2025-01-01: make that one with NewLayout.
func Sonyflake() Layout { return presets()["sonyflake"] }

// Mastodon returns the layout of Mastodon's statuses: Unix milliseconds and 16
// bits that Mastodon fills with a hash plus a counter, here a plain sequence
// (mastodon/mastodon, lib/mastodon/snowflake.rb). It has no worker.
func Mastodon() Layout { return presets()["mastodon"] }

// Baidu returns the default layout of baidu/uid-generator: seconds since
// 2016-05-20 in China, 22 bits of worker, 13 of sequence. Its time ended on
// 2024-11-20T13:24:16Z, so that New refuses it; it is here to read old IDs.
func Baidu() Layout { return presets()["baidu"] }

// Datacenter returns Twitter's bits with a newer epoch, 2021-01-01, as used by
// many services that number datacenters and workers apart. Say which datacenter
// with WithField, or it is 0 everywhere.
func Datacenter() Layout { return presets()["datacenter"] }

// Resource returns a layout that says what an ID stands for: a region of 6 bits
// and a resource type of 14 below the time, then 4 machines with 8 IDs a
// millisecond each. Its 38 bits of milliseconds since 2025-01-01 last until
// 2033-09-17.
func Resource() Layout { return presets()["resource"] }

// ManyWorkers returns the layout with a pool of 32,768 workers, for services
// that take another worker when a clock steps back: 1,024 IDs a millisecond and
// worker. Its 38 bits of milliseconds since 2025-01-01 last until 2033-09-17.
func ManyWorkers() Layout { return presets()["manyworkers"] }

// MultiClock returns a layout with a clock field of 4 bits, for services that
// count it up when their clock steps back (with WithField; generators here need
// no such field, as they do not follow the clock back): milliseconds since 2022-03-15, 256 workers, 1,024 IDs a
// millisecond.
func MultiClock() Layout { return presets()["multiclock"] }

// presets are the layouts by the names that ParseLayout knows. Functions hand out
// the values, because an exported variable could be changed for everybody.
var presets = sync.OnceValue(func() map[string]Layout {
	texts := map[string]string{
		"default":        "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12",
		"wide":           "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14",
		"javascriptsafe": "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:4 sequence:8",
		"seconds":        "epoch=2025-01-01T00:00:00Z tick=1s time:32 worker:10 sequence:21",

		"twitter":   "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 datacenter:5 worker:5 sequence:12",
		"discord":   "epoch=2015-01-01T00:00:00Z tick=1ms time:41 worker:5 process:5 sequence:12",
		"instagram": "epoch=2011-08-24T21:07:01.721Z tick=1ms time:40 shard:13 sequence:10",
		"sonyflake": "epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16",
		"mastodon":  "epoch=1970-01-01T00:00:00Z tick=1ms time:47 sequence:16",
		"baidu":     "epoch=2016-05-20T00:00:00+08:00 tick=1s time:28 worker:22 sequence:13",

		"datacenter":  "epoch=2021-01-01T00:00:00Z tick=1ms time:41 datacenter:5 worker:5 sequence:12",
		"resource":    "epoch=2025-01-01T00:00:00Z tick=1ms time:38 region:6 type:14 machine:2 sequence:3",
		"manyworkers": "epoch=2025-01-01T00:00:00Z tick=1ms time:38 worker:15 sequence:10",
		"multiclock":  "epoch=2022-03-15T00:00:00Z tick=1ms time:41 clock:4 worker:8 sequence:10",
	}
	layouts := make(map[string]Layout, len(texts))
	for name, text := range texts {
		layout, err := parseLayout(text)
		if err != nil {
			panic(err)
		}
		layouts[name] = layout
	}
	return layouts
})
