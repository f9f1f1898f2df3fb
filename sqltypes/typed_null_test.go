package sqltypes_test

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// userNulls are optional IDs with their texts.
var userNulls = map[userNull]string{
	{}:                                    "",
	sqltypes.TypedNullFrom(userID(0)):     "user_0000000000000",
	sqltypes.TypedNullFrom(userID(7)):     "user_0000000000007",
	sqltypes.TypedNullFrom(userID(-5)):    "user_FZZZZZZZZZZZV",
	{ID: math.MaxInt64, Valid: true}:      "user_7ZZZZZZZZZZZZ",
	{ID: 175928847299117063, Valid: true}: "user_04W86BB0G4007",
}

func TestTypedNullIsWrittenAndReadBack(t *testing.T) {
	for want, text := range userNulls {
		var wantLog, wantValue any
		wantJSON := "null"
		if want.Valid {
			wantLog, wantValue, wantJSON = text, want.ID.Int64(), `"`+text+`"`
		}
		if want.String() != text || want.IsZero() == want.Valid || sqltypes.TypedNullFromPtr(want.Ptr()) != want {
			t.Errorf("%+v: String %q, IsZero %v, Ptr %v", want, want.String(), want.IsZero(), want.Ptr())
		}
		if got := want.LogValue(); got.Any() != wantLog || want.Valid && got.Kind() != slog.KindString {
			t.Errorf("LogValue of %+v = %v, want %v", want, got, wantLog)
		}
		if appended, err := want.AppendText([]byte("id=")); string(appended) != "id="+text || err != nil {
			t.Errorf("AppendText of %+v = %q, %v", want, appended, err)
		}

		value, err := want.Value()
		got := userNull{42, true}
		if scanErr := got.Scan(value); value != driver.Value(wantValue) || err != nil || got != want || scanErr != nil {
			t.Errorf("Value of %+v = %v, %v, read back as %+v, %v", want, value, err, got, scanErr)
		}
		encoded, err := json.Marshal(want)
		got = userNull{42, true}
		if jsonErr := json.Unmarshal(encoded, &got); string(encoded) != wantJSON || err != nil || got != want || jsonErr != nil {
			t.Errorf("Marshal of %+v = %s, %v, read back as %+v, %v", want, encoded, err, got, jsonErr)
		}
		marshaled, err := want.MarshalText()
		got = userNull{42, true}
		textErr := got.UnmarshalText(marshaled)
		if string(marshaled) != text || marshaled == nil || err != nil || got != want || textErr != nil {
			t.Errorf("MarshalText of %+v = %q, %v, read back as %+v, %v", want, marshaled, err, got, textErr)
		}
		got = userNull{42, true}
		if err := got.UnmarshalParam(text); got != want || err != nil {
			t.Errorf("UnmarshalParam(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got := (userNull{}).GormDataType(); got != "bigint" {
		t.Errorf("GormDataType() = %q, want bigint", got)
	}
	if seven := userID(7); sqltypes.TypedNullFromPtr(&seven) != sqltypes.TypedNullFrom(seven) {
		t.Error("TypedNullFromPtr differs from TypedNullFrom")
	}
}

func TestTypedNullScan(t *testing.T) {
	id, typed, seven := snowflake.ID(7), userID(7), userNull{7, true}
	for _, test := range []struct {
		src  any
		want userNull
		err  error
	}{
		{nil, userNull{}, nil},
		{int64(7), seven, nil},
		{int64(0), userNull{0, true}, nil},
		{"7", seven, nil},
		{[]byte("7"), seven, nil},
		{id, seven, nil},
		{&id, seven, nil},
		{(*snowflake.ID)(nil), userNull{}, nil},
		{typed, seven, nil},
		{&typed, seven, nil},
		{(*userID)(nil), userNull{}, nil},
		{seven, seven, nil},
		{&seven, seven, nil},
		{userNull{}, userNull{}, nil},
		{userNull{7, false}, userNull{}, nil},
		{&userNull{7, false}, userNull{}, nil},
		{(*userNull)(nil), userNull{}, nil},
		{orderID(7), userNull{}, snowflake.ErrType},
		{sqltypes.TypedNullFrom(orderID(7)), userNull{}, snowflake.ErrType},
		{"", userNull{}, snowflake.ErrSyntax},
		{"user_0000000000007", userNull{}, snowflake.ErrSyntax},
		{7.0, userNull{}, snowflake.ErrType},
		{uint64(math.MaxUint64), userNull{}, snowflake.ErrRange},
	} {
		got := userNull{42, true}
		if err := got.Scan(test.src); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %+v, %v, want %+v, %v", test.src, test.src, got, err, test.want, test.err)
		}
	}
}

func TestTypedNullIsResetOnEveryError(t *testing.T) {
	for name, read := range map[string]func(n *userNull, text string) error{
		"UnmarshalText":  func(n *userNull, text string) error { return n.UnmarshalText([]byte(text)) },
		"UnmarshalParam": func(n *userNull, text string) error { return n.UnmarshalParam(text) },
		"Unmarshal":      func(n *userNull, text string) error { return json.Unmarshal([]byte(`"`+text+`"`), n) },
	} {
		for text, want := range map[string]error{
			"7": snowflake.ErrSyntax, "null": snowflake.ErrSyntax, " ": snowflake.ErrSyntax, "user_7": snowflake.ErrSyntax,
			"user_G000000000000": snowflake.ErrRange, "order_0000000000007": sqltypes.ErrPrefix,
		} {
			got := userNull{42, true}
			if err := read(&got, text); !errors.Is(err, want) || got != (userNull{}) {
				t.Errorf("%s of %q = %+v, %v, want NULL and %v", name, text, got, err, want)
			}
		}
	}
	for in, want := range map[string]error{
		`""`: snowflake.ErrSyntax, `7`: snowflake.ErrType, `{"ID":7,"Valid":true}`: snowflake.ErrType,
	} {
		got := userNull{42, true}
		if err := json.Unmarshal([]byte(in), &got); !errors.Is(err, want) || got != (userNull{}) {
			t.Errorf("Unmarshal(%s) = %+v, %v, want NULL and %v", in, got, err, want)
		}
	}
}

func TestTypedNullInAJSONObject(t *testing.T) {
	type node struct {
		Parent userNull  `json:"parent"`
		Hidden userNull  `json:"hidden,omitzero"`
		Linked *userNull `json:"linked,omitempty"`
	}
	seven := userNull{7, true}
	for _, test := range []struct {
		in   node
		want string
	}{
		{node{}, `{"parent":null}`},
		{
			node{seven, userNull{0, true}, &seven},
			`{"parent":"user_0000000000007","hidden":"user_0000000000000","linked":"user_0000000000007"}`,
		},
	} {
		text, err := json.Marshal(test.in)
		if string(text) != test.want || err != nil {
			t.Errorf("Marshal = %s, %v, want %s", text, err, test.want)
		}
		out := node{Parent: userNull{42, true}}
		if err := json.Unmarshal(text, &out); err != nil || out.Parent != test.in.Parent || out.Hidden != test.in.Hidden {
			t.Errorf("Unmarshal(%s) = %+v, %v", text, out, err)
		}
	}
}
