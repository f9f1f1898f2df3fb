package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

const futureHint = "note: IDs of the future are often those of another layout; --layout all shows the time in each preset\n"

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		args  string
		stdin string
		want  result
	}{
		"a table": {
			args: "decode 175928847299117063 250374789863067648",
			want: result{out: `ID                   TIME                      WORKER  SEQUENCE
175928847299117063   2026-05-01T11:18:25.796Z      32         7
250374789863067648   2026-11-22T21:40:01.642Z       5         0
`},
		},
		"all fields of a preset, in a time zone": {
			args: "decode 1541815603606036480 --layout twitter --tz Europe/Berlin",
			want: result{out: `ID                   TIME                           DATACENTER  WORKER  SEQUENCE
1541815603606036480  2022-06-28T18:07:40.105+02:00          11      26         0
`},
		},
		"the text of a layout": {
			args: "decode 1000000000000 --csv --layout epoch=2026-01-01T00:00:00.5Z_tick=1us_time:50_shard:3_sequence:10",
			want: result{out: "id,time,shard,sequence,note\n1000000000000,2026-01-01T00:02:02.570312000Z,4,0,\n"},
		},
		"JSON, with IDs as strings": {
			args: "decode --json 175928847299117063",
			want: result{out: `{"id":"175928847299117063","time":"2026-05-01T11:18:25.796Z","fields":{"sequence":7,"worker":32}}` + "\n"},
		},
		"a table with a note": {
			args: "decode 0",
			want: result{code: exitFailed, out: `ID                   TIME                      WORKER  SEQUENCE
0                    2025-01-01T00:00:00.000Z       0         0  ! 0 means no ID
`},
		},
		"JSON with a note": {
			args: "decode --json -- -5",
			want: result{code: exitFailed, out: `{"id":"-5","time":"2094-09-07T15:47:35.551Z","fields":{"sequence":4091,"worker":1023},"note":"negative"}` + "\n"},
		},
		"each form": {
			args: "decode --csv 175928847299117063 04W86BB0G4007 user_04W86BB0G4007 big_order_04W86BB0G4007 0x271065ac1020007 -- 0X271065AC1020007",
			want: result{out: "id,time,worker,sequence,note\n" + strings.Repeat("175928847299117063,2026-05-01T11:18:25.796Z,32,7,\n", 6)},
		},
		"base 62 on request": {
			args: "decode --csv --from base62 0Czks0tP37X",
			want: result{out: "id,time,worker,sequence,note\n175928847299117063,2026-05-01T11:18:25.796Z,32,7,\n"},
		},
		"what can't be an ID of the layout": {
			args: "decode --csv -- -5 0 1541815603606036480 9223372036854775807",
			want: result{code: exitFailed, err: futureHint, out: `id,time,worker,sequence,note
-5,2094-09-07T15:47:35.551Z,1023,4091,negative
0,2025-01-01T00:00:00.000Z,0,0,0 means no ID
1541815603606036480,2036-08-25T14:24:45.448Z,378,0,ahead of now by 9.8 years
9223372036854775807,2094-09-07T15:47:35.551Z,1023,4095,ahead of now by 67.8 years
`},
		},
		"centuries ahead": {
			args: "decode --csv --layout mastodon 9223372036854775807",
			want: result{code: exitFailed, out: "id,time,sequence,note\n9223372036854775807,6429-10-17T02:45:55.327Z,65535,ahead of now by 4402.9 years\n"},
		},
		"more bits than the layout": {
			args: "decode --csv --layout javascriptsafe 9007199254740992",
			want: result{code: exitFailed, out: "id,time,worker,sequence,note\n9007199254740992,2025-01-01T00:00:00.000Z,0,0,above 53 bits\n"},
		},
		"bad input does not stop it": {
			args:  "decode --csv",
			stdin: "175928847299117063\n\nabc 1e18\n175928847299117063",
			want: result{
				code: exitFailed, out: "id,time,worker,sequence,note\n" + strings.Repeat("175928847299117063,2026-05-01T11:18:25.796Z,32,7,\n", 2),
				err: "sqlflake decode: line 3: \"abc\" is not an ID: want decimal digits only, byte 0 is \"a\"\n" +
					"sqlflake decode: line 3: \"1e18\" is a floating-point number: the last digits of the ID are lost\n",
			},
		},
		"what is pasted": {
			args: "decode --csv",
			stdin: "\ufeff[\"175928847299117063\",'175928847299117063'];\r\n" +
				" 175928847299117063 | \t`175928847299117063`\r\n{175928847299117063}",
			want: result{out: "id,time,worker,sequence,note\n" + strings.Repeat("175928847299117063,2026-05-01T11:18:25.796Z,32,7,\n", 5)},
		},
		"nothing": {args: "decode", want: result{code: exitFailed, err: "sqlflake decode: there is no ID in the standard input\n"}},
		"not quite": {
			args: "decode 007 +5 9223372036854775808 User_04W86BB0G4007 user_4W 0xzz 01234567-89ab-cdef-0123-456789abcdef a_b_04W86BB0G4070F",
			want: result{code: exitFailed, err: `sqlflake decode: argument 1: "007" is not an ID: a number starts without a zero, and 0 has no sign
sqlflake decode: argument 2: "+5" is not an ID: want decimal digits only, byte 0 is "+"
sqlflake decode: argument 3: "9223372036854775808" is not an ID: it is outside of [-9223372036854775808, 9223372036854775807]
sqlflake decode: argument 4: "User_04W86BB0G4007" is not a typed ID, such as user_04W86BB0G4007: want a prefix of the letters a to z
sqlflake decode: argument 5: "user_4W" is not an ID: want 13 characters, got 2
sqlflake decode: argument 6: "0xzz" is not 1 to 16 hexadecimal digits
sqlflake decode: argument 7: "01234567-89ab-cdef-0123-456789abcdef" is not an ID: its version is 12, want 8 with an ID, a 1 and zeros
sqlflake decode: argument 8: "a_b_04W86BB0G4070F" is not an ID: want 13 characters, got 14
`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			do(t, test.stdin, words(test.args)...).check(t, test.want)
		})
	}
}

// TestWhatProgramsPrintIsPasted has forms in which IDs were reported as missing, or read as others.
func TestWhatProgramsPrintIsPasted(t *testing.T) {
	const id, other = "1582917533873852417", "1582917533873852418"
	small := func(number string) string {
		return number + " in the first minute of the layout: a small number, and not an ID?"
	}

	for name, test := range map[string]struct {
		in    string
		rows  []string // the IDs and their notes
		fault string
	}{
		"compact JSON":              {`[{"id":` + id + `,"name":"Bob"},{"id":` + other + `}]`, []string{id, other}, ""},
		"JSON with strings":         {`{"user_id": "` + id + `"}`, []string{id}, ""},
		"psql":                      {"         id          \n---------------------\n " + id + "\n " + other + "\n(2 rows)\n\n", []string{id, other}, ""},
		"psql in German":            {" id \n----\n " + id + "\n(1 Zeile)\n", []string{id}, ""},
		"psql with a border":        {"+-----+\n| id  |\n+-----+\n| " + id + " |\n+-----+\n(1 row)\n\nTime: 0.512 ms\n", []string{id}, ""},
		"psql, expanded":            {"-[ RECORD 1 ]-----\nid | " + id + "\n-[ RECORD 2 ]-----\nid | " + other + "\n", []string{id, other}, ""},
		"mysql":                     {"+----+\n| id |\n+----+\n| " + id + " |\n+----+\n1 row in set (0.001 sec)\n", []string{id}, ""},
		"mysql, vertical":           {"*************************** 1. row ***************************\nid: " + id + "\n", []string{id}, ""},
		"sqlite in boxes":           {"┌────┐\n│ id │\n├────┤\n│ " + id + " │\n└────┘\n", []string{id}, ""},
		"a log":                     {"2 rows " + id + "\n3 rows in set, 1 warning (0.001 sec)\n(3 rows affected)", []string{small("2"), id}, ""},
		"two columns":               {"id,likes\n" + id + ",53\n", []string{id, small("53")}, ""},
		"before Snowflake":          {"13179370605 20", []string{small("13179370605"), small("20")}, ""},
		"a URL":                     {"https://twitter.com/boogheta/status/" + id + "?s=20#" + other, []string{id, other}, ""},
		"a URL with a typed ID":     {"see http://shop:8080/users/user_04W86BB0G4007/2026?page=5", []string{"175928847299117063"}, ""},
		"a URL without an ID":       {"https://twitter.com/boogheta/2026", nil, "it is a URL without an ID"},
		"a URL with a password":     {"https://app:17@db/" + id + " https://app:17@db/5", []string{id}, "it looks like a DSN, and is not an ID"},
		"a chat":                    {"<@" + id + "> <@!" + id + "> <#" + id + "> <:smile:" + id + ">: hello", []string{id, id, id, id}, ""},
		"JavaScript":                {"[" + id + "n, " + other + "n]", []string{id, other}, ""},
		"Java, Go, MongoDB":         {"NumberLong(\"" + id + "\") ID(" + id + ") " + id + "L", []string{id, id, id}, ""},
		"MongoDB's JSON":            {`{"_id":{"$numberLong":"` + id + `"}}`, []string{id}, ""},
		"PostgreSQL's casts":        {"id=" + id + " OR id = '" + id + "'::bigint OR id = " + id + "::int8", []string{id, id, id}, ""},
		"a spreadsheet's formula":   {`="` + id + `"`, []string{id}, ""},
		"UTF-16":                    {"\xff\xfe1\x007\x005\x00\n\x00", nil, "the input is UTF-16; convert it, such as with iconv"},
		"UTF-16 of the other order": {"\xfe\xff\x001\x00\n", nil, "the input is UTF-16; convert it, such as with iconv"},
		"words of 11 letters":       {"Information", nil, `"Information" is not an ID`},
		"another":                   {"Application", nil, `"Application" is not an ID`},
		"11 characters":             {"BlockNumber BlockNumbe2", nil, `"BlockNumbe2" is not an ID: it is above the greatest one`},
		"base 62 above all":         {"AzL8n0Y58m8", nil, `"AzL8n0Y58m8" is not an ID: it is above the greatest one, 9223372036854775807`},
		"base 32 above all":         {"800000000000A user_8000000000000", nil, "above the greatest one, 9223372036854775807"},
		"a time of the day":         {id + " 10:00:00", []string{id}, `"10:00:00" is not an ID`},
		"a setting":                 {"password=secret17", nil, "it looks like a DSN"},
		"text":                      {"nothing", nil, `"nothing" is not an ID`},
		"two lines of text":         {"nothing\nmore\n" + id, []string{id}, "line 1: \"nothing\" is not an ID: want decimal digits only, byte 0 is \"n\"\nsqlflake decode: line 2: \"more\""},
	} {
		t.Run(name, func(t *testing.T) {
			r := do(t, test.in, "decode", "--layout", "twitter", "--csv")
			noted := false
			var rows []string
			for i, line := range strings.Split(strings.TrimSuffix(r.out, "\n"), "\n") {
				if fields := strings.SplitN(line, ",", 6); i > 0 {
					row := strings.TrimSpace(fields[0] + " " + strings.Trim(fields[5], `"`))
					noted = noted || row != fields[0]
					rows = append(rows, row)
				}
			}

			wantCode := exitOK
			if noted || test.fault != "" {
				wantCode = exitFailed
			}

			if !slices.Equal(rows, test.rows) || r.code != wantCode {
				t.Errorf("exit code %d, want %d: %q, want %q\n%s", r.code, wantCode, rows, test.rows, r.err)
			}

			if !strings.Contains(r.err, test.fault) || test.fault == "" && r.err != "" || strings.Contains(r.err, "17@db") {
				t.Errorf("errors %s, want %q", r.err, test.fault)
			}
		})
	}

	// An argument is read as a line is. A URL with what looks like a password is not printed.
	for arg, want := range map[string]result{
		"https://twitter.com/boogheta/status/175928847299117063": {out: "id,time,worker,sequence,note\n175928847299117063,2026-05-01T11:18:25.796Z,32,7,\n"},
		"(2 rows)": {code: exitFailed, err: "sqlflake decode: argument 1: \"(2 rows)\" is not an ID: want decimal digits only, byte 0 is \"(\"\n"},
	} {
		do(t, "", "decode", "--csv", arg).check(t, want)
	}

	for _, arg := range []string{"\n", "(\n)", "\xff", "é5x", "", " "} {
		if r := do(t, "", "decode", "--", arg); r.code != exitFailed || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: %+v", arg, r)
		}
	}

	do(t, "", "decode", "https://app:17@db/5").fails(t, exitUsage, errSecret.Error())
}

func TestEveryFormOfAnIDIsReadBack(t *testing.T) {
	for _, id := range []snowflake.ID{1, 57, 1e12, 1e13 - 1, 175928847299117063, 1<<63 - 1} {
		for form, text := range map[string]string{
			"decimal": id.String(), "base32": id.Base32(), "base62": id.Base62(), "hex": fmt.Sprintf("%#x", int64(id)),
			"typed": "a_" + id.Base32(),
		} {
			if got, err := parseID(text, form); err != nil || got != id {
				t.Errorf("%s %s: %v, %v", form, text, got, err)
			}
			if form == "base62" && strings.Trim(text, "0123456789") == "" {
				continue // decimal digits come first
			}
			if got, err := parseID(text, "auto"); err != nil || got != id {
				t.Errorf("auto %s: %v, %v", text, got, err)
			}
		}
	}
}

func TestDecodeShowsThePresetsThatAreLikelyFirst(t *testing.T) {
	r := do(t, "", "decode", "--layout", "all", "1541815603606036480")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if want := "1541815603606036480  twitter         2022-06-28T16:07:40.105Z  worker=26 sequence=0 datacenter=11"; lines[1] != want {
		t.Errorf("%s", r.out)
	}

	if len(lines) != 1+len(snowflake.Presets()) || r.code != exitOK {
		t.Errorf("%d lines, exit code %d", len(lines), r.code)
	}

	for format, want := range map[string]string{
		"--json": `{"id":"1541815603606036480","layout":"twitter","time":"2022-06-28T16:07:40.105Z"}` + "\n",
		"--csv": "id,layout,time,fields,note\n" +
			"1541815603606036480,twitter,2022-06-28T16:07:40.105Z,worker=26 sequence=0 datacenter=11,\n",
	} {
		r := do(t, "", "decode", "--layout", "all", format, "1541815603606036480")
		if !strings.HasPrefix(r.out, want) || !strings.Contains(r.out, "ahead of now by 9.8 years") {
			t.Errorf("%s: %s", format, r.out)
		}
	}
}

func TestOnlySomeOfManyFaultsAreNamed(t *testing.T) {
	r := do(t, strings.Repeat("x\n", 1000), "decode")
	if lines := strings.Count(r.err, "\n"); lines != shownFaults+1 || !strings.HasSuffix(r.err, "990 more inputs are not IDs\n") || r.code != exitFailed {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

func TestALongInputIsDecoded(t *testing.T) {
	const count = 20_000
	r := do(t, strings.Repeat("\"250374789863067649\",\r\n", count), "decode", "--csv")
	if want := strings.Repeat("250374789863067649,2026-11-22T21:40:01.642Z,5,1,\n", count); r != (result{out: "id,time,worker,sequence,note\n" + want}) {
		t.Errorf("exit code %d, errors %s, %d bytes", r.code, r.err, len(r.out))
	}
}
