package snowflake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestLayoutTextParsesBack(t *testing.T) {
	l := snowflake.MustLayout(time.Date(2020, 2, 29, 1, 2, 3, 4000, time.FixedZone("", 3600)), 90*time.Second,
		fields("shard", 3, "time", 30, "a_1", 2, "sequence", 20)...)
	want := "epoch=2020-02-29T00:02:03.000004Z tick=1m30s shard:3 time:30 a_1:2 sequence:20"
	if l.String() != want {
		t.Errorf("String() = %q, want %q", l, want)
	}
	type config struct{ Layout snowflake.Layout }
	text, err := json.Marshal(config{l})
	if err != nil {
		t.Fatal(err)
	}
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
