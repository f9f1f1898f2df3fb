package main

import (
	"testing"
)

func TestRange(t *testing.T) {
	const layout = "layout  epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12\n"
	for args, want := range map[string]result{
		"range 2026-11": {out: `zone    UTC
from    2026-11-01T00:00:00Z
to      2026-12-01T00:00:00Z (not included)
` + layout + `where   id >= 242437482086400000 AND id < 253309118054400000
`},
		"range --tz Europe/Berlin 2026-10-25 --column o.id": { // the day has 25 hours
			out: `zone    Europe/Berlin
from    2026-10-25T00:00:00+02:00 = 2026-10-24T22:00:00Z
to      2026-10-26T00:00:00+01:00 = 2026-10-25T23:00:00Z (not included)
` + layout + `where   o.id >= 239870568038400000 AND o.id < 240248055398400000
`,
		},
		"range --json 2026-11-22T10:00 90m": {
			out: `{
  "from": "2026-11-22T10:00:00Z",
  "to": "2026-11-22T11:30:00Z",
  "zone": "UTC",
  "layout": "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12",
  "ranges": [
    {
      "lo": "250198622208000000",
      "hi": "250221271449600000"
    }
  ],
  "where": "id >= 250198622208000000 AND id < 250221271449600000"
}
`,
		},
		"range --where 2024 2025-01-02": {
			out: "id >= 0 AND id < 362387865600000\n",
			err: "note: the layout has times from 2025-01-01T00:00:00Z to 2094-09-07T15:47:35Z only\n",
		},
		"range --where 2026-11-22 --layout epoch=2026-11-22T00:00:00Z_tick=1h_shard:1_time:20_sequence:4": {
			out: "(id >= 0 AND id < 384 OR id >= 16777216 AND id < 16777600)\n",
		},
		"range --where 2026-11-22T02:00 90m --layout epoch=2026-11-22T00:00:00Z_tick=1h_time:18_worker:1_time:2_sequence:4": {
			out: "id >= 0 AND id < 128 AND (id & 33554352) >= 32 AND (33554352 & id) < 128\n",
		},
	} {
		t.Run(args, func(t *testing.T) { do(t, "", words(args)...).check(t, want) })
	}
}

// TestDaysWhoseClocksAreSetAtMidnight names their first and last moments in UTC.
func TestDaysWhoseClocksAreSetAtMidnight(t *testing.T) {
	for _, test := range [][4]string{
		{"America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // from 1:00
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"}, // 23:00 comes twice
		{"Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"},       // from 1:00
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},    // two midnights
		{"Asia/Amman", "2021-10-29", "2021-10-28T21:00:00Z", "2021-10-29T22:00:00Z"},        // two midnights
		{"Asia/Amman", "2021-10", "2021-09-30T21:00:00Z", "2021-10-31T22:00:00Z"},
		{"Asia/Tokyo", "2026", "2025-12-31T15:00:00Z", "2026-12-31T15:00:00Z"},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"}, // the next day is the 31st
	} {
		days := do(t, "", "range", "--layout", "twitter", "--where", "--tz", test[0], test[1])
		times := do(t, "", "range", "--layout", "twitter", "--where", test[2], test[3])
		if days != times || days.code != exitOK {
			t.Errorf("%q: %+v, want %+v", test, days, times)
		}
	}
}

// TestFormsOfASpan writes the same span in several ways. It is 21:40 on 2026-11-22.
func TestFormsOfASpan(t *testing.T) {
	for name, group := range map[string][][]string{
		"a day and a half until now": {
			{"36h"},
			{"1d12h"},
			{"36h", "now"},
			{"2026-11-21T09:40", "now"},
			{"2026-11-21T09:40"},
			{"2026-11-21 09:40:00", "36h"},
			{"1d12h", "2026-11-22T21:40:00Z"},
			{"2026-11-21T10:40:00+01:00", "2026-11-22 21:40:00Z"},
			{"2026-11-21 09:40:00+00", "now"},
			{"2026-11-21T09:40Z", "now"},
			{"--tz", "Asia/Tokyo", "2026-11-21T18:40"},
		},
		"a year":  {{"2025"}, {"2025", "2026"}, {"2025-01-01", "2026-01-01"}, {"2025-01", "365d"}},
		"a day":   {{"2026-11-22"}, {"2026-11-22", "24h"}, {"2026-11-22", "1d"}, {"1d", "2026-11-23"}},
		"nothing": {{"now", "now"}, {"2026-11-22T21:40", "now"}},
	} {
		want := do(t, "", append([]string{"range", "--where"}, group[0]...)...)
		if want.code != exitOK {
			t.Errorf("%s: %+v", name, want)
		}
		for _, args := range group {
			if got := do(t, "", append([]string{"range", "--where"}, args...)...); got != want {
				t.Errorf("%s: %q is %+v, %q is %+v", name, args, got, group[0], want)
			}
		}
	}
	for _, text := range []string{"0", "-5m", "d", "1d-2h", "0h", "1.5d", "99999999d", "7w", "2026-13", "2026-02-30", "yesterday"} {
		do(t, "", "range", text, "now").fails(t, exitUsage, "")
	}
}
