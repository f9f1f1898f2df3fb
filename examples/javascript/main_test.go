package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

func table(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	exampletest.Must(t, printTable(&out))
	return out.String()
}

func TestTheReadmeShowsTheTable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	exampletest.Must(t, err)
	if text := table(t); !strings.Contains(string(readme), "```\n"+text+"```\n") {
		t.Errorf("README.md does not contain\n%s", text)
	}
}

func TestNodeReadsWhatTheTableSays(t *testing.T) {
	sent, err := json.Marshal(kinds)
	exampletest.Must(t, err)
	const script = `for (const [kind, users] of Object.entries(JSON.parse(process.argv[1])))
	for (const user of users) console.log(kind, user.name, String(user.id))`
	out := node(t, "--input-type=module", "-e", script, string(sent))
	rows := strings.Split(table(t), "\n")

	for line := range strings.Lines(string(out)) {
		read := strings.Fields(line)
		if !slices.ContainsFunc(rows, func(row string) bool {
			cells := strings.Fields(row)
			return len(cells) == 5 && slices.Equal(read, []string{cells[0], cells[1], cells[3]})
		}) {
			t.Errorf("node reads %s which is not in\n%s", line, table(t))
		}
	}

	if n := strings.Count(string(out), "\n"); n != 6 {
		t.Errorf("node reads %d users", n)
	}
}

// node runs a program and returns what it prints.
func node(t *testing.T, arguments ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}

	cmd := exec.CommandContext(t.Context(), path, arguments...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	exampletest.Must(t, err)
	return out
}

type kindOfUser struct{}

func (kindOfUser) Prefix() string { return "user" }

type longKind struct{}

func (longKind) Prefix() string { return "big_user" }

type (
	numbered struct {
		ID     string `json:"id"`
		Layout string `json:"layout"`
	}
	address struct {
		Hash  string `json:"hash"`
		Typed string `json:"typed"` // into the field of the ID, after the page was opened
	}
	field struct {
		Name, Value string
		Bits        int
	}
	shown struct {
		Time, Rounded, Error string
		Fields               []field
		Digits, Texts        [][2]string
	}
	read struct{ Form, ID, Error string }
	shot struct {
		Error, Link, Bits string
		Options, Rows     []string
	}
	answers struct {
		Presets map[string]string
		Shown   []shown
		Read    []read
		Pages   []shot
	}
)

const notAnID = "not an ID: want a number such as 175928847299117063, 13 characters of base 32 such as 04W86BB0G4007, " +
	"11 of base 62, or a UUID"

// playground runs the page's scripts in node.
func playground(t *testing.T, ids []numbered, texts []string, addresses []address) (got answers) {
	t.Helper()
	argument, err := json.Marshal(map[string]any{
		"ids":   append([]numbered{}, ids...),
		"texts": append([]string{}, texts...), "addresses": append([]address{}, addresses...),
	})
	exampletest.Must(t, err)
	exampletest.Must(t, json.Unmarshal(node(t, "testdata/page.mjs", string(argument)), &got))
	return got
}

// isoTime is the time as JavaScript writes it: with six digits of years above 9999, and none above 275760.
func isoTime(l snowflake.Layout, id snowflake.ID) string {
	at := l.Time(id)
	switch year := at.Year(); {
	case at.Unix() > 8_640_000_000_000:
		nanos := new(big.Int).Mul(big.NewInt(at.Unix()), big.NewInt(1e9))
		return nanos.Add(nanos, big.NewInt(int64(at.Nanosecond()))).String() + " ns since 1970"
	case year > 9999:
		return fmt.Sprintf("+%06d%s", year, at.Format("-01-02T15:04:05.000Z"))
	}

	return at.Format("2006-01-02T15:04:05.000Z")
}

// want is what the playground must say of an ID.
func want(l snowflake.Layout, id snowflake.ID) shown {
	if id>>l.Bits() > 0 {
		return shown{Error: fmt.Sprintf("above the %d bits of the layout", l.Bits())}
	}

	digits, at := fmt.Sprintf("%064b", int64(id)), 64-l.Bits()
	is := shown{
		Time: isoTime(l, id), Rounded: fmt.Sprintf("%.0f", float64(id)), Digits: [][2]string{{"unused", digits[:at]}},
		Texts: [][2]string{
			{"decimal", id.String()},
			{"base32", id.Base32()},
			{"base62", id.Base62()},
			{"uuid", uuidkey.UUID(id).String()},
		},
	}

	for _, f := range l.Fields() {
		part := digits[at : at+f.Bits]
		value, _ := new(big.Int).SetString(part, 2)
		is.Fields = append(is.Fields, field{f.Name, value.String(), f.Bits})
		is.Digits = append(is.Digits, [2]string{f.Name, part})
		at += f.Bits
	}

	return is
}

func TestThePlaygroundShowsWhatGoSays(t *testing.T) {
	var ids []numbered
	var wants []shown
	layouts := append(snowflake.Presets(),
		"epoch=1969-12-31T23:59:59.998000001Z tick=1.001ms time:8 worker:3 time:20 sequence:2",
		"epoch=2025-01-01T00:00:00Z tick=1h time:50 sequence:12", "epoch=2025-01-01T00:00:00Z tick=10s time:41 sequence:4")

	for _, text := range layouts {
		l, err := snowflake.ParseLayout(text)
		exampletest.Must(t, err)
		greatest := snowflake.ID(uint64(1)<<l.Bits() - 1)
		for _, id := range []snowflake.ID{
			0, 1, greatest, greatest - 1, 6149008514797120170 & greatest,
			250263666560077824, 1 << 62,
		} {
			ids, wants = append(ids, numbered{id.String(), text}), append(wants, want(l, id))
		}
	}

	got := playground(t, ids, nil, nil)
	for i, id := range ids {
		if !reflect.DeepEqual(got.Shown[i], wants[i]) {
			t.Errorf("%s in %s:\n%+v, want\n%+v", id.ID, id.Layout, got.Shown[i], wants[i])
		}
	}

	for _, name := range snowflake.Presets() {
		if layout := snowflake.MustPreset(name).String(); got.Presets[name] != layout {
			t.Errorf("page/playground.mjs has the preset %s as %q, want %q", name, got.Presets[name], layout)
		}
		delete(got.Presets, name)
	}

	if len(got.Presets) > 0 {
		t.Errorf("Go has no presets %v", got.Presets)
	}
}

func TestThePlaygroundReadsWhatGoWrites(t *testing.T) {
	const id = snowflake.ID(250263666560077824)
	number := id.String()
	texts := map[string]read{
		number: {"decimal", number, ""}, id.Base32(): {"base32", number, ""}, id.Base62(): {"base62", number, ""},
		uuidkey.UUID(id).String():               {"uuid", number, ""},
		sqltypes.Typed[kindOfUser](id).String(): {"typed", number, ""},
		sqltypes.Typed[longKind](id).String():   {"typed", number, ""},
		sqltypes.Typed[longKind](id).String() + "0": {
			Error: "want 13 of 0123456789ABCDEFGHJKMNPQRSTVWXYZ",
		},
		"User_04W86BB0G4007":                   {Error: "a prefix has 1 to 63 letters a to z, with underscores between them only"},
		"1234567890123":                        {"decimal", "1234567890123", ""}, // also base 32
		"2BN5D8MQNV4EBEF8WQ5QEYGZDA":           {Error: "a token of publicid: only its key reads it"},
		"983f9608-8e16-4f5f-890a-6c4bfa033185": {Error: "a UUID that holds no ID; a token of publicid is read by its key only"},
		"x":                                    {Error: notAnID},
	}

	list := slices.Collect(maps.Keys(texts))
	for i, got := range playground(t, nil, list, nil).Read {
		if got != texts[list[i]] {
			t.Errorf("%q is read as %+v, want %+v", list[i], got, texts[list[i]])
		}
	}
}

func TestThePlaygroundSaysWhatIsWrongWithALayout(t *testing.T) {
	const good = "epoch=2025-01-01T00:00:00Z tick=1ms "
	texts := map[string]string{
		"constructor": "constructor: want a preset, or epoch=", "__proto__": "__proto__: want a preset",
		"Twitter": "Twitter: want a preset",
		"tick=1ms epoch=2025-01-01T00:00:00+99:99 time:41 sequence:1": "epoch 2025-01-01T00:00:00+99:99: there is no such time",
		"tick=1ms epoch=2025-02-30T00:00:00Z time:41 sequence:1":      "epoch 2025-02-30T00:00:00Z: there is no such time",
		"tick=1ms epoch=2025 time:41 sequence:1":                      "epoch 2025: want a time such as",
		"tick=9999999h epoch=2025-01-01T00:00:00Z time:1 sequence:1":  "the tick is above 2^63 - 1 ns",
		good + "tick=1ms time:41 sequence:1":                          "tick stands there twice",
		good + "time:41 time:1 sequence:1":                            "two fields time side by side",
		good + "time:41 sequence:31":                                  "72 bits, more than 63",
		good + "time:41":                                              "no field sequence",
	}
	var ids []numbered

	for text := range texts {
		ids = append(ids, numbered{"7", text})
	}

	for i, got := range playground(t, ids, nil, nil).Shown {
		if layout := ids[i].Layout; !strings.HasPrefix(got.Error, texts[layout]) {
			t.Errorf("%s: %q, want %q", layout, got.Error, texts[layout])
		}
	}
}

// The address is the input of somebody else.
func TestThePageShowsTheIDOfItsAddressAndNoMarkup(t *testing.T) {
	const first = snowflake.ID(175928847299117063)
	typed := sqltypes.Typed[longKind](first).String()
	page := func(layout, form, number string, id snowflake.ID) shot {
		is := want(snowflake.MustPreset(layout), id)
		var bits []string
		rows := []string{"time: " + is.Time}

		for _, d := range is.Digits {
			bits = append(bits, d[1])
		}

		for _, f := range is.Fields {
			name := f.Name
			if name == "time" {
				name = "ticks"
			}
			rows = append(rows, fmt.Sprintf("%s (%d bits): %s", name, f.Bits, f.Value))
		}

		rows = append(rows, "read as: "+form)
		for _, text := range is.Texts {
			rows = append(rows, text[0]+": "+text[1])
		}

		return shot{Bits: strings.Join(bits, " "), Rows: append(rows, "Number(id): "+number)}
	}
	const rounded = "rounded to 175928847299117056"
	options := playground(t, nil, nil, []address{{}}).Pages[0].Options

	if got := slices.Sorted(slices.Values(options)); !slices.Equal(got,
		slices.Sorted(slices.Values(snowflake.Presets()))) {
		t.Errorf("the page offers %q", got)
	}

	tests := []struct {
		address
		link string
		want shot
	}{
		{address{}, "id=175928847299117063&layout=default", page("default", "decimal", rounded, first)},
		{
			address{"#layout=clustered&id=" + typed, ""},
			"id=" + typed + "&layout=clustered",
			page("clustered", "typed", rounded, first),
		},
		{
			address{"#layout=twitter&id=7", " " + first.Base62() + " "},
			"id=+" + first.Base62() + "+&layout=twitter",
			page("twitter", "base62", rounded, first),
		},
		{address{"#layout=discord&id=7", ""}, "id=7&layout=discord", page("discord", "decimal", "exact", 7)},
		{address{"#id=7&layout=", ""}, "id=7&layout=", page("default", "decimal", "exact", 7)},
		{address{"#id=%", ""}, "id=%25&layout=default", shot{Error: notAnID}},
		{
			address{"#id=<img src=x onerror=alert(1)>", ""},
			"id=%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E&layout=default",
			shot{Error: notAnID},
		},
		{
			address{"#id=7&layout=<img/src=x/onerror=alert(1)>", ""},
			"id=7&layout=%3Cimg%2Fsrc%3Dx%2Fonerror%3Dalert%281%29%3E",
			shot{Error: "<img/src=x/onerror=alert(1)>: want a preset, or epoch=, tick= and fields such as time:41"},
		},
	}
	var addresses []address

	for _, test := range tests {
		addresses = append(addresses, test.address)
	}

	for i, got := range playground(t, nil, nil, addresses).Pages {
		want := tests[i].want
		want.Link, want.Options, want.Rows = "#"+tests[i].link, options, append([]string{}, want.Rows...)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v shows\n%+v, want\n%+v", addresses[i], got, want)
		}
	}
}
