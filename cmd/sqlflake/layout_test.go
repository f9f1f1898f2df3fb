package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
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

note: its IDs can be above 2^53 - 1, which JavaScript rounds: send them as
      strings
`})
	for text, want := range map[string]string{
		"baidu":    "its time has ended",
		"mastodon": "it has no worker",
		"epoch=2030-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:2": "its time has not begun",
		"epoch=2025-01-01T00:00:00Z tick=1ms shard:3 time:41 sequence:2":   "the time is not the highest field",
	} {
		do(t, "", "layout", text).says(t, exitOK, "note: "+want)
	}
	if r := do(t, "", "layout", "javascriptsafe"); strings.Contains(r.out, "note") {
		t.Errorf("%+v", r)
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

	for _, row := range []string{
		"\nbwmarrin       1024    2080  1ms time:41 worker:10 sequence:12\n",
		"\nbaidu          4194304 2024  1s time:28 worker:22 sequence:13, ended\n",
	} {
		if !strings.Contains(r.out, row) {
			t.Errorf("%q is missing in\n%s", row, r.out)
		}
	}

	do(t, "", "layout", "SonyflakeV2").fails(t, exitUsage, ", sonyflake2, ")
	var all []description
	if err := json.Unmarshal([]byte(do(t, "", "layout", "--json").out), &all); err != nil || len(all) != len(snowflake.Presets()) || all[0].Max != "9223372036854775807" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestTheDifferenceOfTwoLayoutsIsAsFollowsSays has the case of uid-generator, whose users gave bits of the sequence to the time.
func TestTheDifferenceOfTwoLayoutsIsAsFollowsSays(t *testing.T) {
	longer := "epoch=2016-05-20T00:00:00+08:00 tick=1s time:30 worker:22 sequence:11"
	do(t, "", "layout", "--until", "2020-06-01", "baidu", longer).check(t, result{out: `LAYOUT WORKERS ENDS FIELDS
OLD    4194304 2024 1s time:28 worker:22 sequence:13, ended
NEW    4194304 2050 1s time:30 worker:22 sequence:11

If the last generator of OLD ends at 2020-06-01T00:00:00Z,
NEW may start at 2032-07-08T00:00:00Z, 12.1 years later.
Is an ID that NEW issues at that time one of OLD?
yes, an old one.
1093464313823232000 is one of 2017-05-23T00:00:00Z in OLD.
`})
	hours := "epoch=2025-01-01T00:00:00Z tick=1h time:41 worker:10 sequence:12"
	do(t, "", "layout", "--json", "twitter", hours).says(t, exitOK, `"from": "57788818-01-23T07:00:00Z"`) // a time.Time in JSON ends in 9999
	for _, test := range []struct{ old, layout, from, equal, time string }{
		{"baidu", longer, "", "yes, an old one", "2019-01-04T11:25:00Z"},
		{"default", "default", "2026-11-22T21:40:01Z", "yes, unless the workers differ", "2026-11-22T21:40:01Z"},
		{"javascriptsafe", "default", "2026-11-22T21:40:01Z", "no: its IDs have more bits than the IDs of OLD", ""},
		{"default", "twitter", "2026-11-22T21:40:01Z", "no, but one that OLD would issue later", "2041-01-19T19:57:06.343Z"},
		{"twitter", "epoch=2030-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12", "2046-01-19T19:57:06.343Z", "no: NEW has no IDs of that time", ""},
	} {
		var d difference
		r := do(t, "", "layout", "--json", test.old, test.layout)
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.code != exitOK {
			t.Fatal(r, err)
		}
		from := ""
		if d.From != nil {
			from = d.From.Format(time.RFC3339Nano)
		}
		if from != test.from || (d.Never == "") != (from != "") || d.Equal != test.equal || d.Time != test.time {
			t.Errorf("%s, %s: %s", test.old, test.layout, r.out)
		}
		answer := map[bool]string{true: "may start at", false: "never follows"}[test.from != ""]
		do(t, "", "layout", test.old, test.layout).says(t, exitOK, answer)
	}
}

func TestTheLastTwoYearsOfALayoutAreALineOnStderr(t *testing.T) {
	dir := t.TempDir()
	d := newSQLite(t, filepath.Join(dir, "leases.db"))
	d.migrate(t)
	for range 2 { // one line, not one for each worker
		open(t, d)
	}
	open(t, d, lease.WithNamespace("later"), lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("seconds"))))

	const day = 24 * time.Hour
	for _, c := range []struct {
		left time.Duration
		says string
	}{
		{3 * 365 * day, ""},
		{2 * 365 * day, ""},
		{700*day + time.Hour, " ends at 2094-09-07T15:47:35Z, in 700 days\n"},
		{0, " has ended at 2094-09-07T15:47:35Z\n"},
	} {
		for what, command := range map[string]string{
			"the namespace default": "workers --json --dsn " + d.DSN,
			"the namespace n":       "new --worker 7 --namespace n --state " + dir,
			"snowflake_next":        "sql functions --dialect postgres --worker 7",
		} {
			now := snowflake.Default().End().Add(-c.left)
			r := doAt(t.Context(), func() time.Time { return now }, nil, strings.Fields(command)...)
			want := ""
			if c.says != "" {
				want = "warning: the layout of " + what + c.says
			}
			if r.code != exitOK || r.out == "" || r.err != want {
				t.Errorf("%v left, %s: code %d, errors %q, want %q", c.left, command, r.code, r.err, want)
			}
		}
	}
}

func TestAfterAMoveTheEndOfTheLayoutBeforeIsNoWarning(t *testing.T) {
	next, before := snowflake.MustPreset("seconds"), snowflake.Default()
	now := before.End().Add(-24 * time.Hour)
	var errs strings.Builder
	warnEndings(&errs, []leasestore.Entry{
		{Claim: leasestore.Claim{Namespace: "a"}, Layout: before.String(), Expires: now.Add(time.Second)},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 0}, Layout: before.String(), Expires: now.Add(-time.Hour)},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 1}, Layout: next.String(), Expires: now, Held: true},
		{Claim: leasestore.Claim{Namespace: "b", Worker: 2}, Layout: before.String(), Expires: now.AddDate(250, 0, 0), Held: true, Holder: leasestore.Holder{Host: "reserved for x"}},
	}, now)
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the namespace a ends at") {
		t.Errorf("%q", got)
	}
}

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
