package sqltypes_test

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// columnTest says what a type of columns reads and writes.
type columnTest[T comparable] struct {
	of      func(snowflake.ID) T
	text    func(snowflake.ID) string // outside of the column
	strict  bool                      // no number is read from JSON
	bits    int                       // 63 if the column has no negative IDs
	null    error                     // of Scan
	gorm    string
	badText map[error][]string // also in JSON strings
	badJSON map[error][]string
	scans   []scanTest[T]
}

type scanTest[T any] struct {
	src     any
	want    T
	err     error
	message string // a part of it
}

type columnValue interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
	driver.Valuer
	GormDataType() string
}

type columnPointer[T any] interface {
	*T
	encoding.TextUnmarshaler
	json.Unmarshaler
	sql.Scanner
	UnmarshalParam(string) error // gin and echo
}

// testColumn is passed by all types: they read what they write, in order if the column has no integers, and are reset on
// errors.
func testColumn[T columnValue, P columnPointer[T]](t *testing.T, test columnTest[T]) {
	var zero T
	old := test.of(42)
	if got := zero.GormDataType(); got != test.gorm {
		t.Errorf("GormDataType() = %q, want %q", got, test.gorm)
	}
	last := ""
	for _, id := range everyID() {
		want, text := test.of(id), test.text(id)
		value, err := want.Value()
		if id < 0 && test.bits == 63 {
			if value != nil || !errors.Is(err, snowflake.ErrRange) {
				t.Errorf("Value of %d = %v, %v, want ErrRange", id, value, err)
			}
			continue
		}
		if err != nil || !driver.IsValue(value) {
			t.Fatalf("Value of %d = %T %v, %v", id, value, value, err)
		}
		column := columnText(value)
		if _, isInt := value.(int64); !isInt && column <= last {
			t.Fatalf("%d is stored as %q, which is not above %q", id, column, last)
		}
		last = column
		for _, src := range []any{value, column, []byte(column)} { // drivers pass either
			test.scans = append(test.scans, scanTest[T]{src: src, want: want})
		}
		marshaled, err := want.MarshalText()
		if got := fmt.Sprintf("%s %v %s", want, want.String(), marshaled); got != text+" "+text+" "+text || err != nil {
			t.Fatalf("%d is printed as %s, %v", id, got, err)
		}
		object, err := json.Marshal(map[T]T{want: want})
		if string(object) != `{"`+text+`":"`+text+`"}` || err != nil {
			t.Fatalf("Marshal of %d = %s, %v", id, object, err)
		}
		for name, read := range columnReaders[T, P]() {
			got := old
			if err := read(&got, text); got != want || err != nil {
				t.Fatalf("%s of %s = %v, %v", name, text, got, err)
			}
		}
		back, number := map[T]T{}, old
		if err := json.Unmarshal(object, &back); err != nil || back[want] != want {
			t.Fatalf("%s is read as %v, %v", object, back, err)
		}
		if err := json.Unmarshal([]byte(id.String()), &number); text == id.String() && (number != want || err != nil) != test.strict {
			t.Fatalf("the number %d is read as %v, %v", id, number, err)
		}
	}

	id, own := snowflake.ID(7), test.of(7)
	for _, src := range []any{id, &id, own, &own} { // bulk builders pass them
		test.scans = append(test.scans, scanTest[T]{src: src, want: own})
	}
	for want, sources := range map[error][]any{
		test.null:           {nil, (*T)(nil), (*snowflake.ID)(nil)},
		snowflake.ErrSyntax: {"", []byte{}},
		snowflake.ErrType:   {true, []int64{5}, 1e18},
	} {
		for _, src := range sources {
			test.scans = append(test.scans, scanTest[T]{src: src, err: want})
		}
	}
	for _, s := range test.scans {
		got := old
		err := P(&got).Scan(s.src)
		var parse *snowflake.ParseError
		if got != s.want || !errors.Is(err, s.err) || err != nil && (!errors.As(err, &parse) || !strings.Contains(err.Error(), s.message)) {
			t.Errorf("Scan(%T %v) = %v, %v, want %v, %v with %s", s.src, s.src, got, err, s.want, s.err, s.message)
		}
	}
	if err := P(&own).Scan(&own); own != test.of(7) || err != nil {
		t.Errorf("Scan of itself = %v, %v, want 7", own, err)
	}
	for want, texts := range test.badText {
		for _, text := range texts {
			for name, read := range columnReaders[T, P]() {
				got := old
				if err := read(&got, text); !errors.Is(err, want) || got != zero {
					t.Errorf("%s of %q = %v, %v, want the zero value and %v", name, text, got, err, want)
				} else {
					wantOneReason(t, name, err)
				}
			}
		}
	}
	for want, texts := range test.badJSON {
		for _, text := range texts {
			got := old
			err := P(&got).UnmarshalJSON([]byte(text))
			if !errors.Is(err, want) || got != zero || !strings.HasPrefix(err.Error(), "snowflake: JSON ") {
				t.Errorf("UnmarshalJSON(%s) = %v, %v, want the zero value and %v", text, got, err, want)
			}
		}
	}
	afterNull := old // encoding/json prescribes it for types that have no NULL
	if test.null == nil {
		afterNull = zero
	}
	if err := json.Unmarshal([]byte("null"), &old); old != afterNull || err != nil {
		t.Errorf("null is read as %v, %v", old, err)
	}
}

// columnReaders are the methods that read text, also in JSON strings.
func columnReaders[T any, P columnPointer[T]]() map[string]func(v *T, text string) error {
	return map[string]func(v *T, text string) error{
		"UnmarshalText":  func(v *T, text string) error { return P(v).UnmarshalText([]byte(text)) },
		"UnmarshalParam": func(v *T, text string) error { return P(v).UnmarshalParam(text) },
		"UnmarshalJSON":  func(v *T, text string) error { return P(v).UnmarshalJSON([]byte(`"` + text + `"`)) },
	}
}

// ofID returns the test of a type that is an int64 and has the text of an ID outside of the column.
func ofID[T idValue](name, gorm string) columnTest[T] {
	return columnTest[T]{
		of: func(id snowflake.ID) T { return T(id) }, text: snowflake.ID.String, null: snowflake.ErrNull, gorm: gorm,
		badText: map[error][]string{
			snowflake.ErrSyntax: {"", "-0", "1.5", "1e3", "007", "0270F12E45678"}, snowflake.ErrRange: {"9223372036854775808"},
		},
		badJSON: map[error][]string{
			snowflake.ErrType: {`true`, `{}`, `[]`}, snowflake.ErrSyntax: {`1.5`}, snowflake.ErrRange: {`9223372036854775808`},
		},
		scans: []scanTest[T]{
			{src: nil, err: snowflake.ErrNull, message: "snowflake: NULL is not an ID: use *" + name + " or sql.Null[" + name + "]"},
			{src: (*T)(nil), err: snowflake.ErrNull, message: "nil *" + name},
			{src: int64(15), err: snowflake.ErrType, message: `int64 "15" is not an ID: ` + name + " is for a column of type "},
			{src: int64(5), err: snowflake.ErrType, message: ", use snowflake.ID for one of integers"},
			{src: 1e18, err: snowflake.ErrType, message: `float64 "1e+18" is not an ID: ` + name + " is for a column of type "},
			{src: strings.Repeat("7", 1000), err: snowflake.ErrSyntax, message: ` "` + strings.Repeat("7", 37) + `..." is not an ID`},
		},
	}
}

func TestText(t *testing.T) { testColumn(t, ofID[sqltypes.Text]("sqltypes.Text", "string")) }
func TestUUID(t *testing.T) {
	test := ofID[uuidkey.ID]("uuidkey.ID", "uuid")
	test.bits = 63
	testColumn(t, test)
}

// The GORM plugin fills keys of these types.
func TestKeysAreSet(t *testing.T) {
	for _, key := range []gormplugin.Key{new(sqltypes.Text), new(sqltypes.Strict), new(uuidkey.ID), new(userID)} {
		if key.SetSnowflakeID(7); key.SnowflakeID() != 7 {
			t.Errorf("%T holds %d after SetSnowflakeID(7)", key, key.SnowflakeID())
		}
	}
}

// everyID has the limits, IDs that differ in each bit, and random ones, in order; negative IDs are last.
func everyID() []snowflake.ID {
	ids := []snowflake.ID{0, 1, -1, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}
	for bit := range 64 {
		id := snowflake.ID(1) << bit
		ids = append(ids, id, id-1, ^id)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		ids = append(ids, snowflake.ID(random.Uint64()>>random.IntN(64)))
	}
	slices.SortFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) })
	return slices.Compact(ids)
}

// columnText returns the bytes of a driver's value.
func columnText(value driver.Value) string {
	switch value := value.(type) {
	case []byte:
		return string(value)
	case int64:
		return snowflake.ID(value).String()
	}
	return value.(string)
}

func TestNull(t *testing.T) {
	null := sqltypes.Null{}
	testColumn(t, columnTest[sqltypes.Null]{
		of: sqltypes.NullFrom, text: snowflake.ID.String, gorm: "bigint",
		badText: map[error][]string{snowflake.ErrSyntax: {"-0", "1.5", "1e3", "null"}, snowflake.ErrRange: {"9223372036854775808"}},
		badJSON: map[error][]string{
			snowflake.ErrSyntax: {`""`, `" 5"`, `"007"`, `1.5`, `1e3`}, snowflake.ErrType: {`true`, `[]`, `{"ID":"5","Valid":true}`},
			snowflake.ErrRange: {`9223372036854775808`},
		},
		scans: []scanTest[sqltypes.Null]{
			{src: sqltypes.Null{ID: 7}, want: null},
			{src: &sqltypes.Null{ID: 7}, want: null},
			{src: null, want: null},
			{src: uint64(math.MaxUint64), err: snowflake.ErrRange},
		},
	})

	if null == sqltypes.NullFrom(0) || sqltypes.NullFrom(0).IsZero() || !null.IsZero() || null.String() != "" {
		t.Errorf("NULL is %+v, the ID 0 is %+v", null, sqltypes.NullFrom(0))
	}

	value, err := null.Value()
	text, textErr := null.MarshalText()
	if value != nil || text == nil || len(text) > 0 || err != nil || textErr != nil {
		t.Errorf("NULL is written as %v, %v and %q, %v", value, err, text, textErr)
	}

	a, b := sqltypes.NullFrom(42), sqltypes.NullFrom(42)
	if err := errors.Join(a.UnmarshalText(nil), b.UnmarshalParam("")); a != null || b != null || err != nil {
		t.Errorf("the empty text is read as %+v, %+v, %v", a, b, err)
	}
}

func TestNullInJSON(t *testing.T) {
	type node struct {
		Parent sqltypes.Null `json:"parent"`
		Hidden sqltypes.Null `json:"hidden,omitzero"`
		Quoted sqltypes.Null `json:"quoted,string"` //nolint:staticcheck // without effect, and harmless where it is written
	}

	for want, in := range map[string]node{
		`{"parent":null,"quoted":null}`:            {},
		`{"parent":"0","hidden":"0","quoted":"5"}`: {sqltypes.NullFrom(0), sqltypes.NullFrom(0), sqltypes.NullFrom(5)},
	} {
		text, err := json.Marshal(in)
		out := node{Parent: sqltypes.NullFrom(42), Quoted: sqltypes.NullFrom(42)}
		if string(text) != want || err != nil || json.Unmarshal(text, &out) != nil || out != in {
			t.Errorf("Marshal = %s, %v, want %s; read back as %+v", text, err, want, out)
		}
	}
}

func TestTextReadsNothingElseInTheColumn(t *testing.T) {
	for want, texts := range map[error][]string{
		snowflake.ErrSyntax: {
			"175928847299117063", "000000000000z", "0000000000001  ", "00000000000\xc3\xa9",
			"00000000000O0", // Crockford's decoder takes this O for a 0
		},
		snowflake.ErrRange: {"G000000000000"},
	} {
		for _, text := range texts {
			for _, src := range []any{text, []byte(text)} {
				v := sqltypes.Text(42)
				if err := v.Scan(src); !errors.Is(err, want) || v != 0 {
					t.Errorf("Scan(%T %q) = %d, %v, want 0 and %v", src, src, v, err, want)
				}
			}
		}
	}

	// The comment of Text warns of it.
	decimal := snowflake.ID(1234567890123)
	var text sqltypes.Text
	if err := text.Scan(decimal.String()); err != nil || text == sqltypes.Text(decimal) {
		t.Errorf("Scan(%s) = %d, %v, want another ID", decimal, text, err)
	}
}

// checkNullFormats checks that BSON and parameters of URLs are read back.
func checkNullFormats(t *testing.T, n sqltypes.Null) {
	t.Helper()
	typ, data, err := n.MarshalBSONValue()
	if back := sqltypes.NullFrom(42); err != nil || back.UnmarshalBSONValue(typ, data) != nil || back != n {
		t.Errorf("%+v is written as BSON %x of type %#x, %v, and read back as %+v", n, data, typ, err, back)
	}

	values := url.Values{}
	err = n.EncodeValues("id", &values)
	back := sqltypes.NullFrom(42)
	if err != nil || !values.Has("id") || back.UnmarshalParam(values.Get("id")) != nil || back != n {
		t.Errorf("%+v is written as %s, %v, and read back as %+v", n, values.Encode(), err, back)
	}
}

func TestNullIsReadBackFromBSONAndParameters(t *testing.T) {
	checkNullFormats(t, sqltypes.Null{})
	for _, id := range everyID() {
		checkNullFormats(t, sqltypes.NullFrom(id))
	}
}

func TestBSONDoublesAreRejected(t *testing.T) {
	double := []byte{0, 0, 0, 0, 0, 0, 0x14, 0x40} // 5.0
	null, typed, strict := sqltypes.NullFrom(42), userID(42), sqltypes.Strict(42)
	for name, err := range map[string]error{
		"Null":   null.UnmarshalBSONValue(1, double),
		"Typed":  typed.UnmarshalBSONValue(1, double),
		"Strict": strict.UnmarshalBSONValue(1, double),
	} {
		if !errors.Is(err, snowflake.ErrType) {
			t.Errorf("%s reads a double: %v", name, err)
		}
	}

	if null != (sqltypes.Null{}) || typed != 0 || strict != 0 {
		t.Errorf("after the error they are %v, %d, %d", null, typed, strict)
	}
}

func TestStrict(t *testing.T) {
	test := ofID[sqltypes.Strict]("sqltypes.Strict", "bigint")
	test.strict = true
	test.badText[snowflake.ErrSyntax] = append(test.badText[snowflake.ErrSyntax], "7.0", " 7")
	test.badJSON = map[error][]string{
		snowflake.ErrType:   {`true`, `{}`, `[5]`, `5`, `0`, `1.5`, `1e400`, `9223372036854775808`},
		snowflake.ErrSyntax: {``, `"`, `nul`},
	}
	test.scans = []scanTest[sqltypes.Strict]{
		{src: nil, err: snowflake.ErrNull, message: "NULL is not an ID: use *sqltypes.Strict or sql.Null[sqltypes.Strict]"},
		{src: uint64(math.MaxUint64), err: snowflake.ErrRange},
	}
	testColumn(t, test)
}

func TestStrictReadsNoJSONNumberAndSaysWhy(t *testing.T) {
	const want = "want a string with the digits: numbers above 2^53 are rounded by JavaScript and other readers of JSON"
	for _, text := range []string{
		"true", "{}", "[5]", "0", "-7", "5.0", "1e3", "9007199254740992", "9007199254740993", "-9007199254740993",
		"175928847299117063", "1e18", "-1e400", "99999999999999999999",
	} {
		in := struct{ ID sqltypes.Strict }{42}
		err := json.Unmarshal([]byte(`{"ID":`+text+`}`), &in)
		var parse *snowflake.ParseError
		if !errors.Is(err, snowflake.ErrType) || !errors.As(err, &parse) || parse.Reason != want || parse.Input != text || in.ID != 0 {
			t.Errorf("%s is read as %d, %v, want %s", text, in.ID, err, want)
		}
	}

	in := struct {
		ID sqltypes.Strict `json:",string"` // structs of older programs have it
	}{}

	if err := json.Unmarshal([]byte(`{"ID":7}`), &in); err == nil || in.ID != 0 {
		t.Errorf("with the option string, 7 is read as %d, %v", in.ID, err)
	}

	// Version 1 of encoding/json removes the quotes, and the ID is an error.
	if err := json.Unmarshal([]byte(`{"ID":"7"}`), &in); (err == nil) != (in.ID == 7) || err != nil && in.ID != 0 {
		t.Errorf(`with the option string, "7" is read as %d, %v`, in.ID, err)
	}
}
