package snowflake

import (
	"slices"
	"strings"
	"sync"
)

// Default returns the layout that New uses: 41 bits of milliseconds since 2025-01-01, 1,024 workers, 4,096 IDs per
// millisecond and worker, until 2094-09-07.
func Default() Layout { return presets()[0].layout }

// Clustered returns the layout for tables that several processes write and that are stored in the order of their
// primary key, as InnoDB does (MySQL, MariaDB): the bits of Default, with the worker above the lower 22 bits of the
// time. Each worker appends to its own part of the table, as InnoDB expects, and the table stays as small as with
// auto-increment. With Default InnoDB splits pages in the middle: such tables are up to 2.2 times as large.
//
// IDs of different workers are in order by time only from one [Layout.Period] of 70 minutes to the next. So are the IDs
// of one generator whose lease takes another worker. [Layout.MaskedRanges] finds the IDs of any span of time.
//
// An ID of Default can be equal to one of Clustered in the same period. To continue a table with the other layout, end
// all its writers, and start those with the new layout, and another namespace of leases, in a later period. The times
// of the old IDs then seem to be up to a period off.
func Clustered() Layout { return presets()[1].layout }

// Scattered returns the layout for databases that split a table into ranges of its primary key and keep each on another
// machine, such as TiDB, CockroachDB, YugabyteDB, Spanner and Aurora DSQL: with the other layouts all new rows go to
// the last range. Here the sequence is above the time and begins each tick at another number, so even one process
// writes to all ranges. 32,768 workers have 128 IDs per millisecond each, until 2094-09-07.
//
// What it costs: keys are in no order of time, so the newest rows are not the last ones. [Layout.Range], package
// settled and partitions return ErrFieldOrder. A span of time is 128 ranges of keys ([Layout.MaskedRanges]). A burst of
// more than 1,408 IDs waits for the clock.
//
// It is for new tables: it follows no other layout and none follows it ([Layout.Follows]), so a namespace of leases
// never moves to it, and its IDs can be equal to IDs of another layout. Where a table is one tree, take Default or
// Clustered: rows at random places of a large tree cost it more than they save.
func Scattered() Layout { return presets()[2].layout }

// Preset returns the layout with the given name. [Layout.String] shows its bits, [Layout.End] when it ends.
//
//   - default: see [Default].
//   - clustered: see [Clustered].
//   - scattered: see [Scattered].
//   - wide: for leased workers; 256 workers with 16,384 IDs per millisecond each, four times the rate of default.
//   - javascriptsafe: 53 bits, so IDs never exceed Number.MAX_SAFE_INTEGER, 2^53 - 1 (ECMA-262, section 21.1.2.8). It
//     is for clients that need numbers in JSON; strings, which ID writes, need no such layout. The price is the rate:
//     12,800 IDs a second for each of 256 workers, so Fill of 1,000 takes 60 ms. If 100 leased processes are killed,
//     100 new ones find workers at once. After a second crash within two windows some have to wait. It ends in 2112.
//   - seconds: ticks of 1 s for rows that arrive in bulk. A generator may wait a second for its first ID.
//   - twitter: Twitter and X (twitter-archive/snowflake, IdWorker.scala, tag snowflake-2010). Set the datacenter with
//     WithField, or it is 0.
//   - discord: Discord's API reference, "Snowflakes". Its numbers are unsigned; this layout has the lower 41 of its 42
//     time bits and ends in 2084.
//   - instagram: "Sharding & IDs at Instagram", 2012. The published function has 41 bits of time; without the sign bit
//     40 are left, which end in 2046.
//   - bwmarrin: bwmarrin/snowflake as it comes: Twitter's epoch, and 1,024 nodes. If a program sets its own epoch or
//     bits, take a layout of these, as for the libraries below.
//   - sonyflake: sony/sonyflake version 1.
//   - sonyflake2: sony/sonyflake/v2, which counts from 2025-01-01.
//   - godruoyi: godruoyi/go-snowflake.
//   - yitter: yitter/idgenerator, with 64 workers. Its sequences begin at 5.
//   - mastodon: Mastodon's statuses, without a worker. The lowest 16 bits, here a sequence, are a hash plus a counter
//     (mastodon/mastodon, lib/mastodon/snowflake.rb).
//   - baidu: baidu/uid-generator. Its time ended on 2024-11-20T13:24:16Z: New rejects it, but old IDs can be read.
//   - datacenter: Twitter's bits since 2021-01-01. Set the datacenter with WithField, or it is 0.
//   - resource: a region and a resource type below the time, then 4 machines with 8 IDs per millisecond each. The bits
//     are an article's, the epoch of 2025 is ours, and it ends on 2033-09-17. The article counts from 2015-01-01 in
//     China: its time ended on 2023-09-17, and its IDs are read with a layout of that epoch, see the example of
//     [ParseLayout].
//   - manyworkers: 32,768 workers, for services that take another worker when a clock steps back. Generators of this
//     package need not. Here, too, the epoch of 2025 is ours, and it ends on 2033-09-17. The bits were published with
//     the epoch 2017-12-21, whose time ended on 2026-09-06.
//   - multiclock: a clock field, for services that increment it when their clock steps back. Generators of this package
//     do not follow the clock back and need no such field.
//
// Another name is an error that matches ErrLayout and lists these.
func Preset(name string) (Layout, error) {
	for _, p := range presets() {
		if p.name == name {
			return p.layout, nil
		}
	}

	names := slices.Sorted(slices.Values(Presets()))
	return Layout{}, layoutError("no preset %q, want one of %s", name, strings.Join(names, ", "))
}

// MustPreset is like Preset but panics on an error. It is for names written in the program.
func MustPreset(name string) Layout {
	l, err := Preset(name)
	if err != nil {
		panic(err)
	}
	return l
}

// Presets returns the names that Preset knows, in the order of its comment.
func Presets() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

// preset is a named layout.
type preset struct {
	name   string
	layout Layout
}

// presets is a function because a variable could be changed.
var presets = sync.OnceValue(func() []preset {
	var list []preset
	for _, p := range [][2]string{
		{"default", "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"clustered", "epoch=2025-01-01T00:00:00Z tick=1ms time:19 worker:10 time:22 sequence:12"},
		{"scattered", "epoch=2025-01-01T00:00:00Z tick=1ms sequence:7 time:41 worker:15"},
		{"wide", "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14"},
		{"javascriptsafe", "epoch=2025-01-01T00:00:00Z tick=10ms time:38 worker:8 sequence:7"},
		{"seconds", "epoch=2025-01-01T00:00:00Z tick=1s time:32 worker:10 sequence:21"},
		{"twitter", "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 datacenter:5 worker:5 sequence:12"},
		{"discord", "epoch=2015-01-01T00:00:00Z tick=1ms time:41 worker:5 process:5 sequence:12"},
		{"instagram", "epoch=2011-08-24T21:07:01.721Z tick=1ms time:40 shard:13 sequence:10"},
		{"bwmarrin", "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 worker:10 sequence:12"},
		{"sonyflake", "epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16"},
		{"sonyflake2", "epoch=2025-01-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16"},
		{"godruoyi", "epoch=2008-11-10T23:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"yitter", "epoch=2020-02-19T18:20:02Z tick=1ms time:51 worker:6 sequence:6"},
		{"mastodon", "epoch=1970-01-01T00:00:00Z tick=1ms time:47 sequence:16"},
		{"baidu", "epoch=2016-05-20T00:00:00+08:00 tick=1s time:28 worker:22 sequence:13"},
		{"datacenter", "epoch=2021-01-01T00:00:00Z tick=1ms time:41 datacenter:5 worker:5 sequence:12"},
		{"resource", "epoch=2025-01-01T00:00:00Z tick=1ms time:38 region:6 type:14 machine:2 sequence:3"},
		{"manyworkers", "epoch=2025-01-01T00:00:00Z tick=1ms time:38 worker:15 sequence:10"},
		{"multiclock", "epoch=2022-03-15T00:00:00Z tick=1ms time:41 clock:4 worker:8 sequence:10"},
	} {
		layout, err := parseFields(p[1])
		if err != nil {
			panic(err) // a test reads them all
		}
		list = append(list, preset{p[0], layout})
	}
	return list
})
