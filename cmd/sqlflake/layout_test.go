package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestALayoutIsDescribed(t *testing.T) {
	do(t, "", "layout", "sonyflake").check(t, result{out: `layout   epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16
begins   2014-09-01T00:00:00Z
ends     2188-11-16T03:28:58.88Z (162.0 years from now)
workers  65536
rate     256 IDs each 10ms and worker: 25600 a second
greatest 9223372036854775807 (63 bits)

     FIELD  BITS  FROM BIT           MAX
      time    39        24  549755813887
  sequence     8        16           255
   machine    16         0         65535

note: its IDs can be above 2^53 - 1, which JavaScript rounds: send them as strings
`})
	for text, want := range map[string]string{
		"baidu":    "its time has ended",
		"mastodon": "it has no worker",
		"epoch=2030-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:2": "its time has not begun",
		"epoch=2025-01-01T00:00:00Z tick=1ms shard:3 time:41 sequence:2":   "the time is not the highest field",
	} {
		if r := do(t, "", "layout", text); !strings.Contains(r.out, "note: "+want) || r.code != exitOK {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if r := do(t, "", "layout", "javascriptsafe"); strings.Contains(r.out, "note") {
		t.Errorf("%+v", r)
	}
}

func TestAComputedLayoutHasWhatIsNeeded(t *testing.T) {
	for _, test := range [][2]string{
		{"-workers 5000 -rate 200000 -years 40", "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:13 sequence:9"},
		{"-workers 1024", "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"-years 69.8", ""},
		{"-years 68", "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"-years 67 -epoch 2025", "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"-workers 16 -rate 1000 -years 100 -bits 53", "epoch=2026-01-01T00:00:00Z tick=1ms time:42 worker:4 sequence:7"},
		{"-workers 65536 -rate 20 -years 100 -bits 53", "epoch=2026-01-01T00:00:00Z tick=100ms time:35 worker:16 sequence:2"},
		{"-workers 16 -rate 1 -years 9000", "epoch=2026-01-01T00:00:00Z tick=1ms time:49 worker:4 sequence:10"},
		{"-workers 1 -rate 1 -years 1", "epoch=2026-01-01T00:00:00Z tick=1ms time:36 worker:1 sequence:26"},
		{"-workers 1000000 -rate 1e9 -years 1000", ""},
	} {
		args, want := test[0], test[1]
		t.Run(args, func(t *testing.T) {
			r := do(t, "", append([]string{"layout", "-json"}, strings.Fields(args)...)...)
			if want == "" {
				r.fails(t, exitFailed, "halve one of the three")
				return
			}
			var d description
			if err := json.Unmarshal([]byte(r.out), &d); err != nil || d.Layout != want {
				t.Errorf("%+v, want %s", r, want)
			}
		})
	}
}

func TestAllPresetsAreListed(t *testing.T) {
	r := do(t, "", "layout")
	for _, name := range snowflake.Presets() {
		if !strings.Contains(r.out, "\n"+name+" ") {
			t.Errorf("%s is missing in\n%s", name, r.out)
		}
	}
	if upper := do(t, "", "layout", "Twitter").out; upper == "" || upper != do(t, "", "layout", "twitter").out {
		t.Errorf("a name in upper case: %q", upper)
	}
	var all []description
	if err := json.Unmarshal([]byte(do(t, "", "layout", "-json").out), &all); err != nil || len(all) != len(snowflake.Presets()) || all[0].Max != "9223372036854775807" {
		t.Errorf("%+v, %v", all, err)
	}
}
