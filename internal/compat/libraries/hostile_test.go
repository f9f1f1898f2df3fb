//go:build !race

package libraries

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-playground/form/v4"
	"github.com/go-viper/mapstructure/v2"
	"github.com/gocarina/gocsv"
	goccy "github.com/goccy/go-yaml"
	"github.com/gorilla/schema"
	"github.com/jinzhu/copier"
	"github.com/knadh/koanf/v2"
	"github.com/labstack/echo/v4"
	"github.com/spf13/viper"
	"github.com/vmihailenco/msgpack/v5"
	old "go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/v2/bson"
	yaml3 "gopkg.in/yaml.v3"
	sigs "sigs.k8s.io/yaml"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// number is an ID that a float64 rounds, to 1582917533873852416.
const number snowflake.ID = 1582917533873852417

// target is a type that the values of other programs are read into.
type target struct {
	label string
	box   func(id snowflake.ID) any
}

var foreignTargets = []target{
	{"ID", func(id snowflake.ID) any { return &box[snowflake.ID]{id} }},
	{"*ID", func(id snowflake.ID) any { return &box[*snowflake.ID]{&id} }},
	{"Null", func(id snowflake.ID) any { return &box[sqltypes.Null]{sqltypes.NullFrom(id)} }},
	{"Typed", func(id snowflake.ID) any { return &box[userID]{userID(id)} }},
	strictTarget,
	{"Array", func(id snowflake.ID) any {
		return &box[sqltypes.Array[snowflake.ID]]{sqltypes.Array[snowflake.ID]{id}}
	}},
}

var strictTarget = target{
	"Strict", func(id snowflake.ID) any { return &box[sqltypes.Strict]{sqltypes.Strict(id)} },
}

// text returns what an ID is as a text of the target.
func (to target) text() string {
	if to.label == "Typed" {
		return userID(number).String()
	}
	return number.String()
}

// hostile are the values of other programs. Texts of another kind are tried one by one.
var hostile = []struct {
	name   string
	values func(to target) []any
}{
	{"a number", func(target) []any { return []any{int64(number)} }},
	{"its text", func(to target) []any { return []any{to.text()} }},
	{"a float64", func(target) []any { return []any{float64(number)} }},
	{`""`, func(target) []any { return []any{""} }},
	{"007", func(target) []any { return []any{"007"} }},
	{"true", func(target) []any { return []any{true} }},
	{"another kind", func(to target) []any {
		if to.label == "Typed" {
			return []any{"order_04W86BB0G4007", number.String()}
		}
		return []any{"order_04W86BB0G4007"}
	}},
	{"NULL", func(target) []any { return []any{nil} }},
}

const bold = "**" // in Markdown, around what is read as another value without an error

// given is the ID in a box, or false for NULL.
func given(b any) (id snowflake.ID, valid bool) {
	switch v := field(b).(type) {
	case snowflake.ID:
		return v, true
	case *snowflake.ID:
		if v != nil {
			return *v, true
		}
	case sqltypes.Null:
		return v.ID, v.Valid
	case userID:
		return v.SnowflakeID(), true
	case sqltypes.Strict:
		return v.SnowflakeID(), true
	case sqltypes.Array[snowflake.ID]:
		if len(v) == 1 {
			return v[0], true
		}
	default:
		panic(fmt.Sprintf("there is no target of type %T", v))
	}

	return 0, false
}

// outcome reads a value into a new box. It is bold if there is another value than the one given, and no error.
func (f *foreign) outcome(read func(value, box any) error, to target, value any) (what string) {
	_, _ = given(to.box(0)) // outside of the recover: a type that given lacks is no outcome
	defer func() {
		if p := recover(); p != nil {
			what = bold + "panic" + bold
		}
	}()

	b, carried := empty(to.box(0)), value
	if f.texts {
		carried = fmt.Sprint(value)
	} else if to.label == "Array" && value != nil {
		carried = []any{value}
	}

	if err := read(carried, b); err != nil {
		return "error"
	}

	id, valid := given(b)
	isNumber := value == int64(number) || value == number.String()
	switch {
	case to.label == "Typed" && !f.integers && isNumber && id == number:
		return bold + "no prefix" + bold
	case valid && id == number && (isNumber || value == to.text()):
		return "ID"
	case value == nil && id == 0, value == "" && !valid:
		return "none"
	case !valid:
		return bold + "NULL" + bold
	}

	return bold + id.String() + bold
}

// cells returns what the targets make of each hostile value.
func (f *foreign) cells(read func(value, box any) error, targets []target) (cells []string) {
	for _, in := range hostile {
		cells = append(cells, f.cell(read, targets, in.values))
	}
	return cells
}

func isSilent(cells []string) bool { return strings.Contains(strings.Join(cells, ""), bold) }

// cell joins what the targets make of a value.
func (f *foreign) cell(read func(value, box any) error, targets []target, values func(to target) []any) string {
	var outcomes []string
	labels := map[string][]string{}
	for _, to := range targets {
		if to.label == "Array" && f.texts {
			continue // a list is no text
		}

		worst := ""
		for _, value := range values(to) {
			if value == nil && f.texts {
				return "" // no text is NULL
			}

			what := f.outcome(read, to, value)
			if worst == "" || strings.HasPrefix(what, bold) {
				worst = what
			}
		}

		if labels[worst] == nil {
			outcomes = append(outcomes, worst)
		}

		labels[worst] = append(labels[worst], to.label)
	}

	slices.SortStableFunc(outcomes, func(a, b string) int { return len(labels[b]) - len(labels[a]) })
	cell := outcomes[:1]
	for _, what := range outcomes[1:] {
		cell = append(cell, strings.Join(labels[what], ", ")+": "+what)
	}

	return strings.Join(cell, "; ")
}

// The README has a line for each library that reads another ID, and with that line no ID is another one.
func TestValuesOfOtherProgramsAreRightOrAnErrorOrHaveALine(t *testing.T) {
	head := []string{"library"}
	for _, in := range hostile {
		head = append(head, in.name)
	}

	table := &table{head: append(head, "the line that mends it")}
	for _, f := range foreigners {
		cells := f.cells(f.read, foreignTargets)
		table.addRow(f.name, f.mend, cells)

		if silent := isSilent(cells); silent != (f.mend != "") {
			t.Errorf("%s reads another ID without an error: %v; its line is %q", f.name, silent, f.mend)
		}
		if f.mended != nil && isSilent(f.cells(f.mended, foreignTargets)) {
			t.Errorf("%s reads another ID in spite of the line %q", f.name, f.mend)
		}

		if strings.Contains(f.mend, "`Strict`") && isSilent(f.cells(f.read, []target{strictTarget})) {
			t.Errorf("%s reads another ID into a Strict", f.name)
		}
	}

	table.check(t, "read")
}

// viper's own hooks are replaced by the option DecodeHook.
func TestTheHookForIDsComesBeforeThoseOfViper(t *testing.T) {
	v := viper.New()
	v.Set("id", number.String())
	v.Set("every", "5m")
	hook := mapstructure.ComposeDecodeHookFunc(decodeID, mapstructure.StringToTimeDurationHookFunc())
	var read struct {
		ID    sqltypes.Null
		Every time.Duration
	}
	err := v.Unmarshal(&read, viper.DecodeHook(hook))

	if err != nil || read.ID != sqltypes.NullFrom(number) || read.Every != 5*time.Minute {
		t.Errorf("read %v, %v", read, err)
	}
}

// The README says so: these are for columns.
func TestATextIsAnInt64InBSON(t *testing.T) {
	var read box[sqltypes.Text]
	err := marshaled(bson.Marshal, bson.Unmarshal)(float64(number), &read)
	if err != nil || read.ID != sqltypes.Text(number-1) {
		t.Errorf("a double is read as the Text %d, %v, want %d", read.ID, err, number-1)
	}
}

// foreign is a library that reads what other programs have written.
type foreign struct {
	name string
	read func(value, box any) error // the value of another program into a box

	texts    bool // a value travels as text, and NULL not at all
	integers bool // an ID travels as an integer, a Typed without its prefix

	mend   string                     // the README's line if it reads another ID
	mended func(value, box any) error // reads with that line, if it is one of code
}

const (
	useStrict = "`Strict`, where callers may round numbers"
	useHook   = "the hook `decodeID` below"
	sameType  = "copy between fields of one type; convert with `snowflake.ID(x)` and `Parse`"
)

var foreigners = []foreign{
	{
		name: "encoding/json", read: marshaled(json.Marshal, json.Unmarshal), mend: useStrict,
	},
	{
		name: "bytedance/sonic", read: marshaled(json.Marshal, sonic.Unmarshal), mend: useStrict,
	},
	{name: "gopkg.in/yaml.v3", read: fromYAML(yaml3.Unmarshal)},
	{
		name: "goccy/go-yaml", read: fromYAML(unmarshalGoccy), mend: "quotes around IDs: `id: \"007\"` is an error",
		mended: marshaled(quoteYAML, unmarshalGoccy),
	},
	{
		name: "sigs.k8s.io/yaml", read: fromYAML(unmarshalSigs),
		mend: "`Strict`, and quotes around IDs",
	},
	{name: "vmihailenco/msgpack/v5", read: marshaled(msgpack.Marshal, msgpack.Unmarshal)},
	{
		name: "mongo-driver/v2", integers: true, read: marshaled(bson.Marshal, bson.Unmarshal),
	},
	{
		name: "mongo-driver 1", integers: true, read: marshaled(old.Marshal, old.Unmarshal),
		mend: "version 2; version 1 is deprecated",
	},
	{
		name: "fxamacker/cbor/v2", integers: true, read: marshaled(cbor.Marshal, cbor.Unmarshal),
	},
	{
		name: "go-viper/mapstructure/v2", read: fromMap(nil),
		mend: useHook, mended: fromMap(decodeID),
	},
	{
		name: "mapstructure with `TextUnmarshallerHookFunc`", read: fromMap(mapstructure.TextUnmarshallerHookFunc()),
		mend: useHook, mended: fromMap(decodeID),
	},
	{name: "spf13/viper", read: fromViper(), mend: useHook, mended: fromViper(viper.DecodeHook(decodeID))},
	{name: "knadh/koanf/v2", read: fromKoanf(nil), mend: useHook, mended: fromKoanf(decodeID)},
	{
		name: "go-playground/form/v4", texts: true, read: fromForm(form.NewDecoder()),
		mend:   "`decoder.RegisterCustomTypeFunc(formID[UserID], UserID(0))` for each type",
		mended: fromForm(newFormDecoder()),
	},
	{
		name: "gorilla/schema", texts: true,
		read: func(value, box any) error { return schema.NewDecoder().Decode(box, values(value)) },
	},
	{
		name: "gin-gonic/gin", texts: true,
		read: func(value, box any) error { return binding.Query.Bind(requestFor(value), box) },
	},
	{
		name: "labstack/echo/v4", texts: true,
		read: func(value, box any) error {
			return echo.New().NewContext(requestFor(value), httptest.NewRecorder()).Bind(box)
		},
	},
	{name: "gocarina/gocsv", texts: true, read: fromCSV},
	{
		name: "jinzhu/copier", read: copyFrom, mend: sameType,
	},
}

func unmarshalGoccy(text []byte, box any) error { return goccy.Unmarshal(text, box) }
func unmarshalSigs(text []byte, box any) error  { return sigs.Unmarshal(text, box) }

// quoteYAML quotes texts, as in YAML that a program writes.
func quoteYAML(value any) ([]byte, error) { return goccy.MarshalWithOptions(value, goccy.JSON()) }

func object(value any) map[string]any { return map[string]any{"id": value} }

func values(value any) url.Values { return url.Values{"id": {value.(string)}} }

func marshaled(marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) func(value, box any) error {
	return func(value, box any) error {
		out, err := marshal(object(value))
		if err != nil {
			panic(err)
		}
		return unmarshal(out, box)
	}
}

// fromYAML writes texts without quotes, as people do.
func fromYAML(unmarshal func([]byte, any) error) func(value, box any) error {
	return func(value, box any) error {
		text := strings.Trim(fmt.Sprint(value), "[]")
		switch text {
		case "":
			text = `""`
		case "<nil>":
			text = "null"
		}

		if _, isList := value.([]any); isList {
			text = "[" + text + "]"
		}

		return unmarshal([]byte("id: "+text+"\n"), box)
	}
}

func fromMap(hook mapstructure.DecodeHookFunc) func(value, box any) error {
	return func(value, box any) error {
		decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: box, DecodeHook: hook})
		if err != nil {
			panic(err)
		}
		return decoder.Decode(object(value))
	}
}

func fromViper(options ...viper.DecoderConfigOption) func(value, box any) error {
	return func(value, box any) error {
		v := viper.New()
		v.Set("id", value)
		return v.Unmarshal(box, options...)
	}
}

func fromKoanf(hook mapstructure.DecodeHookFunc) func(value, box any) error {
	return func(value, box any) error {
		k := koanf.New(".")
		if err := k.Set("id", value); err != nil {
			panic(err)
		}
		if hook == nil {
			return k.Unmarshal("", box)
		}

		config := &mapstructure.DecoderConfig{Result: box, WeaklyTypedInput: true, DecodeHook: hook}
		return k.UnmarshalWithConf("", box, koanf.UnmarshalConf{DecoderConfig: config})
	}
}

func fromForm(decoder *form.Decoder) func(value, box any) error {
	return func(value, box any) error { return decoder.Decode(box, values(value)) }
}

func newFormDecoder() *form.Decoder {
	decoder := form.NewDecoder()
	decoder.RegisterCustomTypeFunc(formID[snowflake.ID], snowflake.ID(0))
	decoder.RegisterCustomTypeFunc(formID[sqltypes.Null], sqltypes.Null{})
	decoder.RegisterCustomTypeFunc(formID[sqltypes.Strict], sqltypes.Strict(0))
	decoder.RegisterCustomTypeFunc(formID[userID], userID(0))
	return decoder
}

func requestFor(value any) *http.Request { return request([]byte(value.(string))) }

// A CSV has a second column, since a line without text is skipped.
func fromCSV(value, box any) error {
	rows := reflect.New(reflect.SliceOf(reflect.TypeOf(box)))
	err := gocsv.UnmarshalBytes([]byte("id,x\n"+value.(string)+",\n"), rows.Interface())
	if err == nil {
		reflect.ValueOf(box).Elem().Set(rows.Elem().Index(0).Elem())
	}
	return err
}

// copyFrom copies from a struct whose field has the type of the value, or is a pointer for NULL.
func copyFrom(value, box any) error {
	id := reflect.ValueOf(value)
	if value == nil {
		id = reflect.ValueOf((*int64)(nil))
	}

	from := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "ID", Type: id.Type()}}))
	from.Elem().Field(0).Set(id)
	return copier.Copy(box, from.Interface())
}
