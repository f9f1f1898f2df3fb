package spec

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check runs an implementation with the vectors.
func check(t *testing.T, program, file string) (out string, err error) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}
	text, err := exec.CommandContext(t.Context(), path, file, vectorsFile).CombinedOutput()
	return string(text), err
}

func TestImplementationsInOtherLanguagesPassTheVectors(t *testing.T) {
	for program, file := range map[string]string{
		"node":    "../../docs/spec/check.mjs",
		"python3": "../../docs/spec/check.py",
	} {
		if out, err := check(t, program, file); err != nil || !strings.HasSuffix(out, "checks passed\n") {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

var update = flag.Bool("update", false, "write docs/spec/vectors.json")

const vectorsFile = "../../docs/spec/vectors.json"

// Numbers of 64 bits are strings.
type (
	vectors struct {
		Version int               `json:"version"`
		Layouts ofLayouts         `json:"layouts"`
		IDs     []decomposed      `json:"ids"`
		Bounds  []bounds          `json:"bounds"`
		Texts   map[string]ofText `json:"texts"` // by form
		Typed   ofTyped           `json:"typed"`
		Tokens  ofTokens          `json:"tokens"`
	}
	ofLayouts struct {
		Valid   []layout `json:"valid"`
		Invalid []string `json:"invalid"`
	}
	layout struct {
		Text, Canonical  string
		Epoch, Tick, End string // nanoseconds, since 1970 or long
		Worker           string // name of the worker's field
	}
	decomposed struct {
		Layout, ID, Ticks, Unix string
		Fields                  map[string]string
	}
	bounds struct {
		Layout, From, To string
		Lo, Hi           string `json:",omitempty"` // absent: an error
	}
	ofText struct {
		Valid   []text   `json:"valid"`
		Read    []text   `json:"read,omitempty"` // but not written
		Invalid []string `json:"invalid"`
	}
	text    struct{ ID, Text string }
	ofTyped struct {
		Valid   []typed `json:"valid"`
		Invalid []typed `json:"invalid"`
	}
	typed struct {
		Prefix, Text, ID string
	}
	ofTokens struct {
		Valid   []token `json:"valid"`
		Invalid []token `json:"invalid"`
	}
	token struct{ Secret, Domain, Token, ID string }
)

var layoutTexts = []string{
	"epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12",
	"tick=1ms time:41 epoch=2025-01-01T01:00:00+01:00 worker:10 sequence:12",
	"epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 datacenter:5 worker:5 sequence:12",
	"epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16",
	"epoch=2025-01-01T00:00:00Z tick=1ms time:19 worker:10 time:22 sequence:12",
	"epoch=2016-05-19T16:00:00Z tick=1s time:28 worker:22 sequence:13",
	"epoch=1969-12-31T23:59:59.999999999Z tick=90s time:20 sequence:3",
	"epoch=2025-01-01T00:00:00Z tick=1.5ms shard:3 time:40 worker:8 sequence:12",
	"epoch=2025-01-01T00:00:00Z tick=12.345µs time:50 sequence:13",
	"epoch=2025-01-01T00:00:00Z tick=1h1m1s time:5 a:1 b:1 c:1 d:1 e:1 f:1 sequence:1",
	"epoch=2025-01-01T00:00:00Z tick=1ms sequence:4 time:3 machine:2 time:3 shard:2",
	"epoch=2025-01-01T00:00:00-01:30 tick=1000ns time:41 a1_b:3 machine:2 worker:2 sequence:12",
	"epoch=2025-01-01T00:00:00.250Z tick=500us time:41 shard:3 machine:2 sequence:012",
	"epoch=1970-01-01T00:00:00Z tick=0.9ns0.9ns1000.1ns time:53 sequence:10",
	"tick=1.5h1ns epoch=1970-01-01T00:00:00.000000001Z time:20 sequence:3",
	"epoch=1677-09-21T00:12:43.145224192Z tick=3600000.5ms time:50 sequence:12",
	"epoch=2262-04-11T23:47:16.854775807Z tick=2562047h47m16.854775807s time:1 sequence:1",
	"epoch=2262-04-11T22:47:16.854775807-01:00 tick=59.999999999s time:1 sequence:1",
	"epoch=2025-01-01T00:00:00Z tick=1h time:50 sequence:12",
	"epoch=2000-02-29T12:00:00Z tick=0.5s time:20 sequence:3",
	"epoch=2025-01-01T00:00:00Z tick=2ms1h3ms01h time:20 sequence:3",
}

var badLayoutTexts = []string{
	"", "time:41 sequence:12", "epoch=2025-01-01T00:00:00Z time:41 sequence:12", "tick=1ms time:41 sequence:12",
	"epoch=2025-01-01T00:00:00Z tick=1ms epoch=2025-01-01T00:00:00Z time:41 sequence:12",
	"epoch=2025-01-01T00:00:00Z tick=1ms tick=1ms time:41 sequence:12",
	"epoch=2025-01-01T00:00:00Z tick=1ms unit=1 time:41 sequence:12",
	"epoch=2025-01-01T00:00:00Z tick=1h time:51 sequence:12",
}

// badEpochs are refused with a good tick and fields, badTicks with a good epoch and one bit of time.
var badEpochs = []string{
	"1677-09-21T00:12:43.145224191Z", "1677-09-21T01:12:43.145224191+01:00", "2262-04-11T23:47:16.854775808Z",
	"2262-04-12T00:00:00Z", "2025-02-30T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z", "2025-01-01", "",
	"2025-01-01T00:00:00", "2025-01-01T00:00:00.٥Z",
	"2025-01-01t00:00:00Z", "2025-01-01T00:00:00z", "2016-12-31T23:59:60Z",
}

var badTicks = []string{
	"999ns", "0.9ns0.9ns999.1ns", "2562047h47m16.854775808s", "2562048h", "1", "1d", "-1ms", "",
	"ms", "١ms",
}

// badFields are refused with the default epoch and tick.
var badFields = []string{
	"time:41", "sequence:12", "time:41 sequence:23", "time:0 sequence:12", "time:63 sequence:1",
	"time:41 worker:5 worker:5 sequence:12",
	"time:20 time:20 sequence:12", "time:9 a:1 time:9 b:1 time:9 sequence:12",
	"time:20 a:1 b:1 c:1 d:1 e:1 f:1 g:1 sequence:1",
	"time:41 Worker:5 sequence:12", "time:41 1a:5 sequence:12", "time:41 _a:5 sequence:12", "time:41 a-b:5 sequence:12",
	"time:41 é:5 sequence:12", "time:41 :5 sequence:12", "time:41 worker sequence:12", "time:41 worker: sequence:12",
	"time:41 sequence:-1",
	"time:41 sequence:٣", "time:41 sequence:3 x",
}

func badLayouts() []string {
	bad := slices.Clone(badLayoutTexts)
	for _, epoch := range badEpochs {
		bad = append(bad, "epoch="+epoch+" tick=1ms time:41 sequence:12")
	}

	for _, tick := range badTicks {
		bad = append(bad, "epoch=2025-01-01T00:00:00Z tick="+tick+" time:1 sequence:12")
	}

	for _, fields := range badFields {
		bad = append(bad, "epoch=2025-01-01T00:00:00Z tick=1ms "+fields)
	}

	return bad
}

func unixNanos(t time.Time) string {
	seconds := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
	return seconds.Add(seconds, big.NewInt(int64(t.Nanosecond()))).String()
}

func makeVectors(t *testing.T) vectors {
	v := vectors{Version: 1, Texts: map[string]ofText{}}
	random := rand.New(rand.NewPCG(26, 2))

	for _, text := range layoutTexts {
		l, err := snowflake.ParseLayout(text)
		must(t, err)
		v.Layouts.Valid = append(v.Layouts.Valid, layout{
			text, l.String(), unixNanos(l.Epoch()), strconv.FormatInt(int64(l.Tick()), 10), unixNanos(l.End()),
			l.WorkerField(),
		})
		greatest := snowflake.ID(uint64(1)<<l.Bits() - 1)

		for _, id := range []snowflake.ID{
			0, 1, greatest, greatest - 1, snowflake.ID(random.Int64()) & greatest,
			snowflake.ID(random.Int64()) & greatest,
		} {
			d := decomposed{
				Layout: l.String(), ID: id.String(), Unix: unixNanos(l.Time(id)),
				Fields: map[string]string{},
			}
			for _, f := range l.Fields() {
				value, err := l.Field(id, f.Name)
				must(t, err)
				if f.Name == snowflake.FieldTime {
					d.Ticks = strconv.FormatInt(value, 10)
				} else {
					d.Fields[f.Name] = strconv.FormatInt(value, 10)
				}
			}

			v.IDs = append(v.IDs, d)
		}

		middle := l.Time(snowflake.ID(random.Int64()) & greatest)
		period := l.Epoch().Add(3 * l.Period())
		for _, span := range [][2]time.Time{
			{l.Epoch(), l.End()},
			{l.Epoch().Add(-time.Hour), l.Epoch()},
			{middle, middle.Add(l.Tick())},
			{middle.Add(1), middle.Add(l.Tick())},
			{middle.Add(-1), l.End().Add(time.Hour)},
			{period, period.Add(2 * l.Period())},
			{middle.Add(1), middle},
			{middle, middle},
			{l.End().Add(-l.Tick()), l.End().Add(-l.Tick())},
			{l.End().Add(-l.Tick()), l.End().Add(1 - l.Tick())},
			{period, period.Add(l.Tick())},
		} {
			b := bounds{Layout: l.String(), From: unixNanos(span[0]), To: unixNanos(span[1])}
			if lo, hi, err := l.Range(span[0], span[1]); err == nil {
				b.Lo, b.Hi = lo.String(), hi.String()
			}
			v.Bounds = append(v.Bounds, b)
		}
	}

	for _, text := range badLayouts() {
		if _, err := snowflake.ParseLayout(text); err == nil {
			t.Fatalf("the layout %q is valid", text)
		}
		v.Layouts.Invalid = append(v.Layouts.Invalid, text)
	}

	makeTexts(t, &v)
	makeTyped(t, &v)
	makeTokens(t, &v)
	return v
}

func TestVectorsAreThoseOfThePackages(t *testing.T) {
	made, err := json.MarshalIndent(makeVectors(t), "", " ")
	must(t, err)

	made = append(made, '\n')
	if *update {
		must(t, os.WriteFile(vectorsFile, made, 0o644))
	}

	stored, err := os.ReadFile(vectorsFile)
	if err != nil || !bytes.Equal(stored, made) {
		t.Errorf("%s differs from what the packages do (%v): what IDs mean must not change; -update writes it",
			vectorsFile, err)
	}
}
