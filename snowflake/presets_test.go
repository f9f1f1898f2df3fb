package snowflake_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The IDs here were published, or made by the library that the layout belongs to.
func TestPresetsReadPublishedIDs(t *testing.T) {
	for _, test := range []struct {
		source, layout string
		id             snowflake.ID
		want           string
	}{
		{
			"a tweet by Wikipedia, taken apart in its article on snowflake IDs", "twitter",
			1541815603606036480, "2022-06-28T16:07:40.105Z worker=26 sequence=0 datacenter=11",
		},
		{
			"Discord's API reference, snowflakes in the documentation", "discord",
			175928847299117063, "2016-04-30T11:18:25.796Z worker=1 sequence=7 process=0",
		},
		{
			"a Discord user in the documentation of twilight", "discord",
			105484726235607040, "2015-10-19T01:58:38.546Z worker=0 sequence=0 process=11",
		},
		{
			"the worked example of Sharding & IDs at Instagram: 1387263000 ms, shard 31341 % 2000, sequence 5001 % 1024", "instagram",
			11637205501278089, "2011-09-09T22:28:04.721Z worker=1341 sequence=905",
		},
		{
			"an article's example: 1512000123 ms since 2022-03-15, written as 1512000123<<22", "multiclock",
			1512000123<<22 | 5<<10, "2022-04-01T12:00:00.123Z worker=5 sequence=0 clock=0",
		},
		{
			// The entity says created_at 03:48:33.901Z: the row was inserted 52 ms before.
			"the Status entity in Mastodon's documentation", "mastodon",
			103270115826048975, "2019-12-08T03:48:33.849Z worker=0 sequence=40911",
		},
		{
			"made and decomposed by sony/sonyflake v1.2.1: time 38566040163, sequence 5, machine 4660", "sonyflake",
			647030786079658548, "2026-11-20T15:53:21.63Z worker=4660 sequence=5",
		},
		{
			"the README of baidu/uid-generator, whose example has 29/21/13 bits and counts from 2016-09-20 in China",
			"epoch=2016-09-20T00:00:00+08:00 tick=1s time:29 worker:21 sequence:13",
			180363646902239241, "2017-01-19T04:15:46Z worker=4 sequence=9",
		},
	} {
		l := layoutOf(test.layout)
		parts := l.Decompose(test.id)
		back, err := l.Compose(parts)
		if parts.String() != test.want || back != test.id || err != nil || !l.Time(test.id).Equal(parts.Time) || l.Validate(test.id) != nil {
			t.Errorf("%s: %d is %v, want %s; composed again %d, %v", test.source, test.id, parts, test.want, back, err)
		}
	}
}

func TestPresetsHaveTheirShape(t *testing.T) {
	var names []string
	for _, test := range []struct {
		name    string
		bits    int
		workers int64
		perTick int64
		end     string
	}{
		{"default", 63, 1024, 4096, "2094-09-07T15:47:35.552Z"},
		{"clustered", 63, 1024, 4096, "2094-09-07T15:47:35.552Z"},
		{"wide", 63, 256, 16384, "2094-09-07T15:47:35.552Z"},
		{"javascriptsafe", 53, 256, 128, "2112-02-09T13:44:29.44Z"},
		{"seconds", 63, 1024, 2097152, "2161-02-07T06:28:16Z"},
		{"twitter", 63, 32, 4096, "2080-07-10T17:30:30.209Z"},
		{"discord", 63, 32, 4096, "2084-09-06T15:47:35.552Z"},
		{"instagram", 63, 8192, 1024, "2046-06-27T17:00:49.497Z"},
		{"bwmarrin", 63, 1024, 4096, "2080-07-10T17:30:30.209Z"},
		{"sonyflake", 63, 65536, 256, "2188-11-16T03:28:58.88Z"},
		{"sonyflake2", 63, 65536, 256, "2199-03-19T03:28:58.88Z"},
		{"godruoyi", 63, 1024, 4096, "2078-07-18T14:47:35.552Z"},
		{"yitter", 63, 64, 64, "73376-10-30T14:34:47.248Z"},
		{"mastodon", 63, 1, 65536, "6429-10-17T02:45:55.328Z"},
		{"baidu", 63, 4194304, 8192, "2024-11-20T13:24:16Z"},
		{"datacenter", 63, 32, 4096, "2090-09-07T15:47:35.552Z"},
		{"resource", 63, 4, 8, "2033-09-17T10:58:26.944Z"},
		{"manyworkers", 63, 32768, 1024, "2033-09-17T10:58:26.944Z"},
		{"multiclock", 63, 256, 1024, "2091-11-19T15:47:35.552Z"},
	} {
		names = append(names, test.name)
		l := snowflake.MustPreset(test.name)
		if l.Bits() != test.bits || l.MaxWorker()+1 != test.workers || l.MaxSequence()+1 != test.perTick {
			t.Errorf("%s: %d bits, %d workers, %d a tick, want %+v", test.name, l.Bits(), l.MaxWorker()+1, l.MaxSequence()+1, test)
		}
		if end := l.End().Format(time.RFC3339Nano); end != test.end {
			t.Errorf("%s: End() = %s, want %s", test.name, end, test.end)
		}
		for _, text := range []string{test.name, l.String()} {
			if parsed, err := snowflake.ParseLayout(text); parsed != l || err != nil {
				t.Errorf("ParseLayout(%q) = %v, %v, want %v", text, parsed, err, l)
			}
		}
	}
	if got := snowflake.Presets(); !slices.Equal(got, names) || snowflake.Default() != layoutOf("default") || snowflake.Clustered() != layoutOf("clustered") {
		t.Errorf("Presets() = %v, want %v", got, names)
	}
}

func TestPresetListsTheNamesThatItKnows(t *testing.T) {
	const want = `no preset "Twitter", want one of baidu, bwmarrin, clustered, datacenter, default, discord, godruoyi, instagram, javascriptsafe, manyworkers, mastodon,`
	l, err := snowflake.Preset("Twitter")
	if !errors.Is(err, snowflake.ErrLayout) || l != (snowflake.Layout{}) || !strings.Contains(err.Error(), want) {
		t.Errorf("Preset: %v, %v", l, err)
	}
	defer func() {
		if again, ok := recover().(error); !ok || again.Error() != err.Error() {
			t.Errorf("MustPreset: recovered %v", again)
		}
	}()
	snowflake.MustPreset("Twitter")
}

// layoutOf reads the text of a layout or the name of a preset.
func layoutOf(text string) snowflake.Layout {
	l, err := snowflake.ParseLayout(text)
	if err != nil {
		panic(err)
	}
	return l
}
