package snowflake_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The IDs here were published, or made by the library that the layout belongs to.
func TestPresetsReadPublishedIDs(t *testing.T) {
	tests := []struct {
		source string
		layout snowflake.Layout
		id     snowflake.ID
		time   string
		worker int64
		seq    int64
		fields map[string]int64
	}{
		{
			source: "a tweet by Wikipedia, taken apart in its article on snowflake IDs", layout: snowflake.MustPreset("twitter"),
			id: 1541815603606036480, time: "2022-06-28T16:07:40.105Z", worker: 26, fields: map[string]int64{"datacenter": 11},
		},
		{
			source: "Discord's API reference, snowflakes in the documentation", layout: preset("discord"),
			id: 175928847299117063, time: "2016-04-30T11:18:25.796Z", worker: 1, seq: 7, fields: map[string]int64{"process": 0},
		},
		{
			source: "a Discord user in the documentation of twilight", layout: preset("discord"),
			id: 105484726235607040, time: "2015-10-19T01:58:38.546Z", fields: map[string]int64{"process": 11},
		},
		{
			source: "the worked example of Sharding & IDs at Instagram: 1387263000 ms, shard 31341 % 2000, sequence 5001 % 1024", layout: preset("instagram"),
			id: 11637205501278089, time: "2011-09-09T22:28:04.721Z", worker: 1341, seq: 905,
		},
		{
			// The entity says created_at 03:48:33.901Z: the row was inserted 52 ms before.
			source: "the Status entity in Mastodon's documentation", layout: preset("mastodon"),
			id: 103270115826048975, time: "2019-12-08T03:48:33.849Z", seq: 40911,
		},
		{
			source: "made and decomposed by sony/sonyflake v1.2.1: time 38566040163, sequence 5, machine 4660", layout: preset("sonyflake"),
			id: 647030786079658548, time: "2026-11-20T15:53:21.63Z", worker: 4660, seq: 5,
		},
		{
			source: "the README of baidu/uid-generator, whose example has 29/21/13 bits and counts from 2016-09-20 in China",
			layout: snowflake.MustLayout(time.Date(2016, 9, 19, 16, 0, 0, 0, time.UTC), time.Second,
				snowflake.Field{Name: "time", Bits: 29}, snowflake.Field{Name: "worker", Bits: 21}, snowflake.Field{Name: "sequence", Bits: 13}),
			id: 180363646902239241, time: "2017-01-19T04:15:46Z", worker: 4, seq: 9,
		},
	}
	for _, test := range tests {
		t.Run(test.source, func(t *testing.T) {
			parts := test.layout.Decompose(test.id)
			want := snowflake.Parts{Time: mustTime(t, test.time), Worker: test.worker, Sequence: test.seq, Fields: test.fields}
			if parts.String() != want.String() {
				t.Errorf("Decompose(%d) = %v, want %v", test.id, parts, want)
			}
			if id, err := test.layout.Compose(want); id != test.id || err != nil {
				t.Errorf("Compose(%v) = %d, %v, want %d", want, id, err, test.id)
			}
			if got := test.layout.Time(test.id); !got.Equal(want.Time) {
				t.Errorf("Time(%d) = %v, want %v", test.id, got, want.Time)
			}
			if err := test.layout.ValidateAt(test.id, want.Time); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPresetsHaveTheirShape(t *testing.T) {
	tests := []struct {
		name    string
		layout  snowflake.Layout
		bits    int
		workers int64
		perTick int64
		end     string
	}{
		{"default", snowflake.Default(), 63, 1024, 4096, "2094-09-07T15:47:35.552Z"},
		{"wide", snowflake.MustPreset("wide"), 63, 256, 16384, "2094-09-07T15:47:35.552Z"},
		{"javascriptsafe", snowflake.MustPreset("javascriptsafe"), 53, 16, 256, "2094-09-07T15:47:35.552Z"},
		{"seconds", preset("seconds"), 63, 1024, 2097152, "2161-02-07T06:28:16Z"},
		{"twitter", snowflake.MustPreset("twitter"), 63, 32, 4096, "2080-07-10T17:30:30.209Z"},
		{"discord", preset("discord"), 63, 32, 4096, "2084-09-06T15:47:35.552Z"},
		{"instagram", preset("instagram"), 63, 8192, 1024, "2046-06-27T17:00:49.497Z"},
		{"sonyflake", preset("sonyflake"), 63, 65536, 256, "2188-11-16T03:28:58.88Z"},
		{"mastodon", preset("mastodon"), 63, 1, 65536, "6429-10-17T02:45:55.328Z"},
		{"baidu", preset("baidu"), 63, 4194304, 8192, "2024-11-20T13:24:16Z"},
		{"datacenter", preset("datacenter"), 63, 32, 4096, "2090-09-07T15:47:35.552Z"},
		{"resource", preset("resource"), 63, 4, 8, "2033-09-17T10:58:26.944Z"},
		{"manyworkers", preset("manyworkers"), 63, 32768, 1024, "2033-09-17T10:58:26.944Z"},
		{"multiclock", preset("multiclock"), 63, 256, 1024, "2091-11-19T15:47:35.552Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := test.layout
			if l.Bits() != test.bits || l.MaxWorker()+1 != test.workers || l.MaxSequence()+1 != test.perTick {
				t.Errorf("%d bits, %d workers, %d a tick, want %d, %d, %d",
					l.Bits(), l.MaxWorker()+1, l.MaxSequence()+1, test.bits, test.workers, test.perTick)
			}
			if end := l.End().Format(time.RFC3339Nano); end != test.end {
				t.Errorf("End() = %s, want %s", end, test.end)
			}
			if named, err := snowflake.ParseLayout(test.name); named != l || err != nil {
				t.Errorf("ParseLayout(%q) = %v, %v, want %v", test.name, named, err, l)
			}
			if parsed, err := snowflake.ParseLayout(l.String()); parsed != l || err != nil {
				t.Errorf("ParseLayout(%q) = %v, %v", l.String(), parsed, err)
			}
		})
	}
}

func TestTheClassicExampleCounts1512000123Milliseconds(t *testing.T) {
	l := preset("multiclock") // counts from 2022-03-15T00:00Z
	id, err := l.Compose(snowflake.Parts{Time: mustTime(t, "2022-04-01T12:00:00.123Z"), Worker: 5})
	if err != nil {
		t.Fatal(err)
	}
	if ms, err := l.Field(id, "time"); ms != 1_512_000_123 || err != nil {
		t.Errorf("the time field is %d, %v, want 1512000123", ms, err)
	}
}

func TestPresetListsTheNamesThatItKnows(t *testing.T) {
	l, err := snowflake.Preset("Twitter")
	if !errors.Is(err, snowflake.ErrLayout) || l != (snowflake.Layout{}) || !strings.Contains(err.Error(),
		`no preset "Twitter", want one of baidu, datacenter, default, discord, instagram, javascriptsafe, manyworkers, mastodon,`) {
		t.Errorf("Preset: %v, %v", l, err)
	}
}

func preset(name string) snowflake.Layout {
	l, err := snowflake.Preset(name)
	if err != nil {
		panic(err)
	}
	return l
}

func mustTime(tb testing.TB, s string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}
