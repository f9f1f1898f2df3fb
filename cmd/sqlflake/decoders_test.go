package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

// decoderCase is a printed decoder with IDs of its layout.
type decoderCase struct {
	Code string              `json:"code"`
	IDs  []snowflake.ID      `json:"ids"`
	Want []map[string]string `json:"want"`
}

// randomLayout has fields in any order, and a time of one or two parts.
func randomLayout(random *rand.Rand) snowflake.Layout {
	for {
		names := []string{"time", "sequence", "worker", "region", "id", "class", "time"}[:2+random.IntN(6)]
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var fields []snowflake.Field
		for _, name := range names {
			fields = append(fields, snowflake.Field{Name: name, Bits: 1 + random.IntN(40/len(names)+5)})
		}
		epoch := time.Unix(0, random.Int64N(4e18)-2e18)
		tick := []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, 12345 * time.Nanosecond}[random.IntN(5)]
		if l, err := snowflake.NewLayout(epoch, tick, fields...); err == nil {
			return l
		}
	}
}

// decoderCases are all presets and random layouts.
func decoderCases(t *testing.T, command string) []decoderCase {
	random := rand.New(rand.NewPCG(26, 3))
	var layouts []snowflake.Layout
	for _, name := range snowflake.Presets() {
		layouts = append(layouts, snowflake.MustPreset(name))
	}
	for _, tick := range []string{"10ms", "1s"} { // up to the years 14294 and 35 million
		l, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=" + tick + " time:50 worker:5 sequence:8")
		if err != nil {
			t.Fatal(err)
		}
		layouts = append(layouts, l)
	}
	for range 1000 {
		layouts = append(layouts, randomLayout(random))
	}
	var cases []decoderCase
	for _, l := range layouts {
		r := do(t, "", command, "--layout", l.String())
		if r.code != exitOK {
			t.Fatalf("%v: %+v", l, r)
		}
		c := decoderCase{Code: r.out}
		for _, id := range []snowflake.ID{0, snowflake.ID(1<<l.Bits() - 1), snowflake.ID(random.Int64() & (1<<l.Bits() - 1))} {
			c.IDs = append(c.IDs, id)
			want := map[string]string{"unixNanos": fmt.Sprintf("%d%09d", l.Time(id).Unix(), l.Time(id).Nanosecond())}
			if s, ns := l.Time(id).Unix(), l.Time(id).Nanosecond(); s < 0 {
				want["unixNanos"] = strconv.FormatInt(s*1e9+int64(ns), 10)
			} else if s == 0 {
				want["unixNanos"] = strconv.Itoa(ns)
			}
			for _, f := range l.Fields() {
				if f.Name != snowflake.FieldTime {
					value, err := l.Field(id, f.Name)
					if err != nil {
						t.Fatal(err)
					}
					want[f.Name] = strconv.FormatInt(value, 10)
				}
			}
			switch ms := l.Time(id).Truncate(time.Millisecond).UnixMilli(); {
			case command == "py" && l.Time(id).Year() > 9999:
				want["time"] = "None"
			case command == "ts" && ms > 8.64e15:
				want["time"] = "NaN"
			default:
				want["time"] = strconv.FormatInt(ms, 10)
			}
			c.Want = append(c.Want, want)
		}
		cases = append(cases, c)
	}
	return cases
}

// runDecoders gives the cases to a program, which prints those that differ.
func runDecoders(t *testing.T, cases []decoderCase, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(input)), os.Stderr
	out, err := cmd.Output()
	if want := fmt.Sprintf("%d decoders agree\n", len(cases)); err != nil || string(out) != want {
		t.Errorf("%s: %v\n%.2000s", program, err, out)
	}
}

// typesOfTS are what TypeScript has above JavaScript, as the template writes it. Node 22 reads TypeScript as it is.
var typesOfTS = regexp.MustCompile(`(?s)export interface .*?\n}\n|export type .*?;\n|export |: (unknown|bigint|Parts)\b`)

func TestTypeScriptDecodersAgreeWithTheLayout(t *testing.T) {
	cases := decoderCases(t, "ts")
	for i := range cases {
		cases[i].Code = typesOfTS.ReplaceAllString(cases[i].Code, "")
	}
	runDecoders(t, cases, "node", "-e", `
const cases = JSON.parse(require("fs").readFileSync(0));
let same = 0;
for (const c of cases) {
  const { decode, parseID } = new Function(c.code + "; return { decode, parseID }")();
  const bad = c.ids.filter((id, i) => {
    const got = decode(parseID(id)), want = c.want[i];
    got.time = got.time.getTime();
    return Object.keys(got).length !== Object.keys(want).length || Object.keys(want).some((k) => String(got[k]) !== want[k]);
  });
  if (bad.length) console.log(c.code, bad); else same++;
}
console.log(same + " decoders agree")`)
}

func TestPythonDecodersAgreeWithTheLayout(t *testing.T) {
	runDecoders(t, decoderCases(t, "py"), "python3", "-c", `
import json, sys, datetime
same = 0
for c in json.load(sys.stdin):
    module = {}
    exec(c["code"], module)
    bad = []
    for id, want in zip(c["ids"], c["want"]):
        got = module["decode"](module["parse_id"](id))
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        got["time"] = got["time"] and (got["time"] - epoch) // datetime.timedelta(milliseconds=1)
        if {k: str(v) for k, v in got.items()} != want:
            bad.append((id, got, want))
    if bad:
        print(c["code"], bad)
    else:
        same += 1
print(same, "decoders agree")`)
}

// Each text is refused, or read as the number.
func TestPrintedParsersReadOnlyIDs(t *testing.T) {
	const texts = `["0", "7", "175928847299117063", "9223372036854775807", "9223372036854775808", "007", "-5", "+5", " 7", "7\n", "1e3", "", ` +
		`"٣", 7, 175928847299117060, null, true, "user_04W86BB0G4007", "user_84W86BB0G4007", "user_04w86bb0g4007", "order_04W86BB0G4007", "user_04W86BB0G4007F"]`
	const want = "0 7 175928847299117063 9223372036854775807 - - - - - - - - - - - - - - - - - -\n" +
		"- - - - - - - - - - - - - - - - - 175928847299117063 - - - -\n"
	runParsers(t, texts, want, "--prefix", "user")
	do(t, "", "ts", "--prefix", "User").fails(t, exitUsage, "letters a to z")
}

// runParsers checks what those of both languages return for a list of texts in JSON: a line of numbers, or - for an error,
// by the one for all IDs, and another by the one for typed IDs.
func runParsers(t *testing.T, texts, want string, args ...string) {
	t.Helper()
	js := typesOfTS.ReplaceAllString(do(t, "", append([]string{"ts"}, args...)...).out, "")
	kind := args[1]
	for program, script := range map[string]string{
		"node": js + `
for (const parse of [parseID, parse` + strings.ToUpper(kind[:1]) + kind[1:] + `ID])
  console.log(` + texts + `.map((t) => { try { return parse(t) } catch { return "-" } }).join(" "));`,
		"python3": do(t, "", append([]string{"py"}, args...)...).out + `
import json
def attempt(parse, text):
    try:
        return str(parse(text))
    except ValueError:
        return "-"
for parse in (parse_id, parse_` + kind + `_id):
    print(*[attempt(parse, t) for t in json.loads(r'''` + texts + `''')])`,
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			skip.Missing(t, "", "%v", err)
		}
		out, err := exec.CommandContext(t.Context(), path, map[string]string{"node": "-e", "python3": "-c"}[program], script).CombinedOutput()
		if string(out) != want || err != nil {
			t.Errorf("%s: %v\n%s\nwant\n%s", program, err, out, want)
		}
	}
}
