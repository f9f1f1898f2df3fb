//go:build !race

package libraries

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
	"go.mongodb.org/mongo-driver/v2/bson"

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
	{"Strict", func(id snowflake.ID) any { return &box[sqltypes.Strict]{sqltypes.Strict(id)} }},
	{"Array", func(id snowflake.ID) any {
		return &box[sqltypes.Array[snowflake.ID]]{sqltypes.Array[snowflake.ID]{id}}
	}},
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

// outcome reads a value into a new box. It is silent if there is another value than the one given, and no error.
func (f *foreign) outcome(read func(value, box any) error, to target, value any) (what string, silent bool) {
	defer func() {
		if p := recover(); p != nil {
			what, silent = "panic", true
		}
	}()

	b, carried := empty(to.box(0)), value
	if f.texts {
		carried = fmt.Sprint(value)
	} else if to.label == "Array" && value != nil {
		carried = []any{value}
	}

	if err := read(carried, b); err != nil {
		return "error", false
	}

	id, valid := given(b)
	isNumber := value == int64(number) || value == number.String()
	switch {
	case to.label == "Typed" && !f.integers && isNumber && id == number:
		return "no prefix", true
	case valid && id == number && (isNumber || value == to.text()):
		return "ID", false
	case value == nil && id == 0, value == "" && !valid:
		return "none", false
	case !valid:
		return "NULL", true
	}

	return id.String(), true
}

// isSilent reports whether a value is read as another one into one of the targets, by all of them for the label "".
func (f *foreign) isSilent(read func(value, box any) error, label string) bool {
	for _, to := range foreignTargets {
		for _, in := range hostile {
			for _, value := range in.values(to) {
				if label != "" && label != to.label || f.texts && (value == nil || to.label == "Array") {
					continue
				}
				if _, silent := f.outcome(read, to, value); silent {
					return true
				}
			}
		}
	}

	return false
}

// cell joins what the types make of a value. Silent outcomes are bold.
func (f *foreign) cell(read func(value, box any) error, values func(to target) []any) string {
	var outcomes []string
	labels := map[string][]string{}
	for _, to := range foreignTargets {
		if to.label == "Array" && f.texts {
			continue // a list is no text
		}

		worst := ""
		for _, value := range values(to) {
			if value == nil && f.texts {
				return "" // no text is NULL
			}

			what, silent := f.outcome(read, to, value)
			if silent {
				what = "**" + what + "**"
			}
			if worst == "" || silent {
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
	table := newTable("library", "the line that mends it")
	for _, in := range hostile {
		table.addColumn(in.name)
	}

	for _, f := range foreigners {
		var cells []string
		for _, in := range hostile {
			cells = append(cells, f.cell(f.read, in.values))
		}

		table.addRow(f.name, f.mend, cells)

		if silent := f.isSilent(f.read, ""); silent != (f.mend != "") {
			t.Errorf("%s reads another ID without an error: %v; its line is %q", f.name, silent, f.mend)
		}
		if f.mended != nil && f.isSilent(f.mended, "") {
			t.Errorf("%s reads another ID in spite of the line %q", f.name, f.mend)
		}
		if f.mendedType != "" && f.isSilent(f.read, f.mendedType) {
			t.Errorf("%s reads another ID into a %s", f.name, f.mendedType)
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
