package snowflake_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

var epoch2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func fields(pairs ...any) []snowflake.Field {
	var list []snowflake.Field
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, snowflake.Field{Name: pairs[i].(string), Bits: pairs[i+1].(int)})
	}
	return list
}

func TestBadLayoutsAreRejectedWithTheValueAndTheLimit(t *testing.T) {
	for _, test := range []struct {
		epoch  time.Time
		tick   time.Duration
		fields []snowflake.Field
		want   string
	}{
		{epoch2025, time.Millisecond, fields("time", 42, "worker", 10, "sequence", 12), "64 bits, more than 63"},
		{epoch2025, time.Millisecond, fields("worker", 10, "sequence", 12), `no field "time"`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 10), `no field "sequence"`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 4, "worker", 5, "sequence", 4), `field "worker" twice`},
		{epoch2025, time.Millisecond, fields("time", 9, "worker", 4, "time", 5, "sequence", 4, "time", 9), `3 fields "time", more than 2`},
		{epoch2025, time.Millisecond, fields("time", 19, "time", 22, "sequence", 4), `two fields "time" side by side: make them one of 41 bits`},
		{epoch2025, time.Millisecond, fields("time", 41, "worker", 0, "sequence", 12), `field "worker" has 0 bits, want 1 to 62`},
		{epoch2025, time.Millisecond, fields("time", 41, "sequence", 268), `field "sequence" has 268 bits, want 1 to 62`}, // wraps a byte
		{epoch2025, time.Millisecond, fields("time", 41, "Worker", 5, "sequence", 12), `field name "Worker"`},
		{epoch2025, time.Millisecond, fields("time", 41, "", 5, "sequence", 12), `field name ""`},
		{epoch2025, time.Millisecond, fields("time", 9, "sequence", 1, "a", 1, "b", 1, "c", 1, "d", 1, "e", 1, "f", 1, "g", 1), "9 fields, more than 8"},
		{epoch2025, 1 << 62, fields("time", 40, "sequence", 12), "last longer than 146 billion years"},
		{epoch2025, 0, fields("time", 41, "sequence", 12), "tick 0s below 1µs"},
		{epoch2025, 10 * time.Nanosecond, fields("time", 41, "sequence", 12), "tick 10ns below 1µs"},
		{time.Time{}, time.Millisecond, fields("time", 41, "sequence", 12), "epoch 0001-01-01T00:00:00Z outside"},
		{epoch2025.AddDate(275, 0, 0), time.Millisecond, fields("time", 41, "sequence", 12), "epoch 2300-01-01T00:00:00Z outside"},
	} {
		l, err := snowflake.NewLayout(test.epoch, test.tick, test.fields...)
		if !errors.Is(err, snowflake.ErrLayout) || !strings.Contains(err.Error(), test.want) || l != (snowflake.Layout{}) {
			t.Errorf("NewLayout = %v, %v, want ErrLayout with %q", l, err, test.want)
		}
	}

	wantMatch(t, panicOf(func() { snowflake.MustLayout(epoch2025, 0) }), snowflake.ErrLayout, "")
}

func TestWorkerFieldGoesByTheNamesOfPublishedLayouts(t *testing.T) {
	for _, test := range []struct {
		fields []snowflake.Field
		want   string
	}{
		{fields("time", 41, "shard", 3, "machine", 4, "worker", 5, "sequence", 8), "worker"},
		{fields("time", 41, "shard", 3, "machine", 4, "sequence", 8), "machine"},
		{fields("time", 41, "shard", 3, "region", 4, "sequence", 8), "shard"},
		{fields("time", 41, "region", 4, "sequence", 8), ""},
	} {
		if got := snowflake.MustLayout(epoch2025, time.Millisecond, test.fields...).WorkerField(); got != test.want {
			t.Errorf("WorkerField() = %q, want %q for %v", got, test.want, test.fields)
		}
	}
}

func TestTheZeroLayoutIsRejectedOrSaysNothing(t *testing.T) {
	var l snowflake.Layout
	wantMatch(t, errOf(snowflake.New(0, snowflake.WithLayout(l))), snowflake.ErrLayout, "")
	wantMatch(t, errOf(l.Compose(snowflake.Parts{})), snowflake.ErrLayout, "")
	wantMatch(t, l.Validate(5), snowflake.ErrLayout, "")
	wantMatch(t, errOf(l.Follows(snowflake.Default(), epoch2025)), snowflake.ErrLayout, "")
	wantMatch(t, errOf(snowflake.Default().Follows(l, epoch2025)), snowflake.ErrLayout, "")
	wantMatch(t, errOf(l.Field(5, "time")), snowflake.ErrUnknownField, "")
	if !l.Time(5).IsZero() || !l.End().IsZero() || l.String() != "" || l.WorkerField() != "" || len(l.Fields()) != 0 || l.MaxWorker() != 0 {
		t.Errorf("the zero layout says %v %v %q", l.Time(5), l.End(), l)
	}

	if p := l.Decompose(5); !p.Time.IsZero() || p.Worker != 0 || p.Sequence != 0 || p.Fields != nil {
		t.Errorf("Decompose(5) = %v", p)
	}
}

func TestLayoutTextParsesBack(t *testing.T) {
	l := snowflake.MustLayout(time.Date(2020, 2, 29, 1, 2, 3, 4000, time.FixedZone("", 3600)), 90*time.Second,
		fields("shard", 3, "time", 30, "a_1", 2, "sequence", 20)...)
	want := "epoch=2020-02-29T00:02:03.000004Z tick=1m30s shard:3 time:30 a_1:2 sequence:20"
	if l.String() != want {
		t.Errorf("String() = %q, want %q", l, want)
	}

	type config struct{ Layout snowflake.Layout }
	text := must(json.Marshal(config{l}))
	var back config
	if err := json.Unmarshal(text, &back); err != nil || back.Layout != l {
		t.Errorf("%s became %v, %v", text, back.Layout, err)
	}

	if err := json.Unmarshal([]byte(`{"Layout":""}`), &back); err != nil || back.Layout != (snowflake.Layout{}) {
		t.Errorf("the empty text became %v, %v", back.Layout, err)
	}
}

func TestParseLayoutTakesWordsInAnyOrderAndPresets(t *testing.T) {
	for _, text := range []string{
		"default",
		" default\n",
		"time:41 worker:10 sequence:12 tick=1ms epoch=2025-01-01T00:00:00Z",
		"\ttick=1000us epoch=2025-01-01T01:00:00+01:00\ntime:41\nworker:10\nsequence:12\n",
	} {
		if l, err := snowflake.ParseLayout(text); err != nil || l != snowflake.Default() {
			t.Errorf("ParseLayout(%q) = %v, %v", text, l, err)
		}
	}
}

func TestParseLayoutNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":        `no epoch= in ""`,
		"Twitter": `no preset "Twitter"`,
		"time:41": `no epoch=`,
		"epoch=2025-01-01T00:00:00Z time:41 sequence:12":                      "no tick=",
		"epoch=yesterday tick=1ms time:41 sequence:12":                        `cannot parse "yesterday"`,
		"epoch=2025-01-01T00:00:00Z tick=fast time:41 sequence:12":            `invalid duration "fast"`,
		"epoch=2025-01-01T00:00:00Z tick=1ms tick=1ms time:41 sequence:12":    "tick given twice",
		"epoch=2025-01-01T00:00:00Z tick=1ms time:41 sequence":                `"sequence": want`,
		"epoch=2025-01-01T00:00:00Z tick=1ms time:41 sequence:x":              `"sequence:x": want`,
		"epoch=2025-01-01T00:00:00Z tick=1ms time:41 sequence:12 colour=blue": `"colour=blue": want`,
		"epoch=2025-01-01T00:00:00Z tick=1ms default":                         `"default": want`,
	} {
		l, err := snowflake.ParseLayout(text)
		if !errors.Is(err, snowflake.ErrLayout) || !strings.Contains(err.Error(), want) || l != (snowflake.Layout{}) {
			t.Errorf("ParseLayout(%q) = %v, %v, want ErrLayout with %q", text, l, err, want)
		}
		kept := snowflake.Default()
		if err := kept.UnmarshalText([]byte(text)); text != "" && (err == nil || kept != snowflake.Default()) {
			t.Errorf("UnmarshalText(%q) left %v, %v", text, kept, err)
		}
	}
}

func FuzzParseLayout(f *testing.F) {
	f.Add("twitter")
	f.Add("epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12")
	f.Add("tick=1us epoch=2024-01-01T00:00:00Z time:9 sequence:1 a:1 b:1 c:1 d:1 e:1 f:1")
	f.Add("tick=1us epoch=1678-01-01T00:00:00Z sequence:1 time:62")
	f.Add("epoch=2262-04-11T23:47:16.854775807Z tick=2562047h47m16.854775807s time:1 sequence:1")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := snowflake.ParseLayout(text)
		if err != nil {
			if !errors.Is(err, snowflake.ErrLayout) {
				t.Errorf("ParseLayout(%q): %v is not ErrLayout", text, err)
			}
			return
		}

		again, err := snowflake.ParseLayout(l.String())
		if err != nil || again != l {
			t.Errorf("%q gave %v, which gave %v, %v", text, l, again, err)
		}

		if end := l.End(); !end.After(l.Epoch()) {
			t.Errorf("%v ends at %v, before its epoch", l, end)
		}

		l.Decompose(-1)
	})
}

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
		{"scattered", 63, 32768, 128, "2094-09-07T15:47:35.552Z"},
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

	if got := snowflake.Presets(); !slices.Equal(got, names) {
		t.Errorf("Presets() = %v, want %v", got, names)
	}

	functions := []snowflake.Layout{snowflake.Default(), snowflake.Clustered(), snowflake.Scattered()}
	for i, name := range names[:len(functions)] {
		if functions[i] != layoutOf(name) {
			t.Errorf("the function of %s returns %v", name, functions[i])
		}
	}
}

func TestPresetListsTheNamesThatItKnows(t *testing.T) {
	const want = `no preset "Twitter", want one of baidu, bwmarrin, clustered, datacenter, default, discord, godruoyi, instagram, javascriptsafe, manyworkers, mastodon,`
	l, err := snowflake.Preset("Twitter")
	if !errors.Is(err, snowflake.ErrLayout) || l != (snowflake.Layout{}) || !strings.Contains(err.Error(), want) {
		t.Errorf("Preset: %v, %v", l, err)
	}
	wantMatch(t, panicOf(func() { snowflake.MustPreset("Twitter") }), snowflake.ErrLayout, want)
}

// layoutOf reads the text of a layout or the name of a preset.
func layoutOf(text string) snowflake.Layout { return must(snowflake.ParseLayout(text)) }
