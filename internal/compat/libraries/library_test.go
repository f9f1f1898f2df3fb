//go:build !race

package libraries

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// library writes and reads a box. Without write it reads texts, without read it only writes.
type library struct {
	name   string
	write  func(box any) ([]byte, error)
	read   func(out []byte, box any) error
	quoted bool   // the output tells strings from numbers by quotes
	forms  string // of the first kinds, if not all are strings
}

// The forms of an ID on the wire.
const (
	asString = "string"
	asNumber = "number"
	asStruct = "struct"
	asBytes  = "int64"
	asError  = "error" // of a token, which is never written as a number
)

// form returns what the output shows of an ID, "" for nothing.
func (l *library) form(k kind, id snowflake.ID, out []byte) string {
	text := k.text(id)
	has := func(s string) bool { return strings.Contains(string(out), s) }
	switch {
	case k.null != nil && strings.Contains(strings.ToLower(string(out)), "valid"):
		return asStruct
	case !has(text):
		if len(shown(id, out)) > 0 {
			return asBytes
		}
		return ""
	case l.quoted && !has(`"`+text+`"`) && !has("'"+text+"'") && text[0] <= '9' && k.label != "publicid.ID":
		return asNumber
	}

	return asString
}

func all() []library { return append(slices.Clone(encoders), others...) }

// cell writes and reads all samples as one type. The form is that of the large samples.
func (l *library) cell(k kind) (form string, failures []string) {
	failf := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	isToken := k.label == "publicid.ID"
	if l.write == nil {
		form = asString
	}

	for _, id := range samples {
		in := k.box(id)
		out, err := []byte(k.text(id)), error(nil)
		if l.write != nil {
			out, err = l.write(in)
		}

		if isToken {
			for _, name := range append(shown(id, out), shown(id, []byte(fmt.Sprint(err)))...) {
				failf("LEAK: %s of %d in %q, %v", name, id, out, err)
			}
		}

		hasNone := isToken && id == 0 // a token
		switch {
		case hasNone && (err != nil || l.write == nil):
			continue
		case err != nil:
			form = asError
			if !isToken {
				failf("%d: %v", id, err)
			}
			continue
		case id >= 1<<53 && l.write != nil:
			now := l.form(k, id, out)
			if now == "" || form != "" && now != form {
				failf("%d is a %q in %q, and another sample a %q", id, now, out, form)
			}
			form = now
		}

		if l.read == nil {
			continue
		}

		back := empty(in)
		err = l.read(out, back)
		isRefused := err != nil && hasNone
		if !isRefused && (err != nil || !reflect.DeepEqual(back, in)) {
			failf("%d: %q is read back as %v, %v", id, out, back, err)
		}
	}

	if k.null != nil {
		failures = append(failures, l.nullCell(k)...)
	}

	return form, failures
}

// nullCell writes and reads NULL.
func (l *library) nullCell(k kind) (failures []string) {
	if l.write == nil || l.read == nil {
		return nil
	}

	in := k.null()
	out, err := l.write(in)
	back := empty(in)
	if err == nil {
		err = l.read(out, back)
	}
	if err != nil || !reflect.DeepEqual(back, in) {
		failures = append(failures, fmt.Sprintf("NULL is read back as %v of %q, %v", back, out, err))
	}

	return failures
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachTypeTravelsThroughEachLibrary(t *testing.T) {
	for _, lib := range all() {
		t.Run(strings.ReplaceAll(lib.name, "/", " "), func(t *testing.T) {
			wanted := map[string]string{}
			for i, form := range strings.Fields(lib.forms) {
				wanted[kinds[i].label] = form
			}

			for _, k := range kinds {
				if isArray(k) && lib.write == nil {
					continue // not a single value
				}
				want := cmp.Or(wanted[k.label], wanted[k.as], asString)
				form, failures := lib.cell(k)
				if form != want || len(failures) > 0 {
					t.Errorf("%s: %s, want %s; failures %.500q", k.label, form, want, failures)
				}
			}
		})
	}
}

type user struct{}

func (user) Prefix() string { return "user" }

func (user) Codec() *publicid.Codec { return users }

var users = func() *publicid.Codec {
	keys, _ := publicid.ParseKeys("k1:000102030405060708090a0b0c0d0e0f") // without keys New fails
	codec, _ := publicid.New("user", keys)                               // without a codec no test passes
	return codec
}()

type (
	userID    = sqltypes.Typed[user]
	publicID  = publicid.ID[user]
	userArray = sqltypes.Array[userID]
)

// box is the struct that every library writes or reads, with the tags of all.
type box[T any] struct {
	ID T `bson:"id" csv:"id" form:"id" json:"id" koanf:"id" mapstructure:"id" msgpack:"id" query:"id" schema:"id" url:"id" xml:"id" yaml:"id"`
}

// kind is a type to write and read.
type kind struct {
	label string
	as    string                       // the kind with the same forms, or ""
	box   func(id snowflake.ID) any    // *box[T]
	null  func() any                   // *box[T] with NULL; nil for types without
	text  func(id snowflake.ID) string // of the ID, in JSON
}

// field returns the ID of a box as a T or, if the pointer is wanted, as a *T.
func field(b any) any        { return reflect.ValueOf(b).Elem().Field(0).Interface() }
func fieldPointer(b any) any { return reflect.ValueOf(b).Elem().Field(0).Addr().Interface() }

// empty returns a pointer to a box of the same type that holds nothing.
func empty(b any) any { return reflect.New(reflect.TypeOf(b).Elem()).Interface() }

func kindOf[T any](label, as string, from func(id snowflake.ID) T, text func(id snowflake.ID) string) kind {
	return kind{label: label, as: as, text: text, box: func(id snowflake.ID) any { return &box[T]{from(id)} }}
}

var kinds = func() []kind {
	digits := snowflake.ID.String
	prefixed := func(id snowflake.ID) string { return userID(id).String() }
	token := func(id snowflake.ID) string { return publicid.IDFrom[user](id).String() }
	null := kindOf("Null", "", sqltypes.NullFrom, digits)
	null.null = func() any { return &box[sqltypes.Null]{} }
	typed := kindOf("Typed", "", func(id snowflake.ID) userID { return userID(id) }, prefixed)
	public := kindOf("publicid.ID", "", publicid.IDFrom[user], token)
	return []kind{
		kindOf("ID", "", func(id snowflake.ID) snowflake.ID { return id }, digits),
		null, typed, public,
		kindOf("Array", "", func(id snowflake.ID) sqltypes.Array[snowflake.ID] { return sqltypes.Array[snowflake.ID]{id} }, digits),
		kindOf("Strict", "ID", func(id snowflake.ID) sqltypes.Strict { return sqltypes.Strict(id) }, digits),
		kindOf("Text", "ID", func(id snowflake.ID) sqltypes.Text { return sqltypes.Text(id) }, digits),
		kindOf("UUID", "ID", func(id snowflake.ID) uuidkey.ID { return uuidkey.ID(id) }, digits),
		kindOf("Array of Typed", "Typed", func(id snowflake.ID) userArray { return userArray{userID(id)} }, prefixed),
	}
}()

func isArray(k kind) bool { return strings.HasPrefix(k.label, "Array") }

// samples are 0, the first ID, one that a float64 rounds, one that a generator made, and the last.
var samples = []snowflake.ID{0, 1, 1<<53 + 1, 175928847303311367, math.MaxInt64}

var update = flag.Bool("update", false, "rewrite the generated tables of README.md")

const readme = "../README.md"

// table is one of the README's that a test generates, between two comments with its name.
type table struct {
	head []string
	rows [][]string
}

// addRow adds a row, or the name alone to the row above if all else is equal.
func (t *table) addRow(name, last string, cells []string) {
	row := slices.Concat([]string{name}, cells, []string{last})
	if n := len(t.rows); n > 0 && slices.Equal(t.rows[n-1][1:], row[1:]) {
		t.rows[n-1][0] += ", " + name
		return
	}
	t.rows = append(t.rows, row)
}

func (t *table) String() string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	line(slices.Repeat([]string{"---"}, len(t.head)))
	for _, row := range t.rows {
		line(row)
	}
	return out.String()
}

// check compares the table with the README, or replaces it there.
func (t *table) check(test *testing.T, name string) {
	test.Helper()
	text, err := os.ReadFile(readme)
	must(test, err)

	begin, end := "<!-- table: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	former, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		test.Fatalf("%s has no %s with an end", readme, begin)
	case former == t.String():
	case !*update:
		test.Errorf("%s: the table %q is another; run: go test ./internal/compat/libraries -update", readme, name)
	default:
		if err := os.WriteFile(readme, []byte(before+begin+t.String()+end+after), 0o600); err != nil {
			test.Error(err)
		}
	}
}
