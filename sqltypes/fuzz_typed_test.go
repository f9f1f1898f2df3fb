package sqltypes_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// wantOneReason fails unless the error matches exactly one of the sentinels of readers.
func wantOneReason(t *testing.T, what string, err error) {
	t.Helper()
	n := 0
	for _, reason := range []error{snowflake.ErrSyntax, snowflake.ErrRange, snowflake.ErrType, sqltypes.ErrPrefix} {
		if errors.Is(err, reason) {
			n++
		}
	}
	if n != 1 || len(err.Error()) > 400 {
		t.Fatalf("%s: error %v has %d reasons, want one", what, err, n)
	}
}

// Text is read if and only if the ID prints it, and all readers agree with ParseTyped.
func FuzzTyped(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, number int64) {
		parsed, err := sqltypes.ParseTyped[userKind](text)
		if err == nil && parsed.String() != text {
			t.Fatalf("%q is read as %d, which prints %q", text, parsed, parsed)
		}
		if err != nil {
			wantOneReason(t, "ParseTyped", err)
		}
		// Package snowflake has the reference.
		id, idErr := snowflake.ParseBase32(strings.TrimPrefix(text, "user_"))
		if ok := idErr == nil && strings.HasPrefix(text, "user_"); ok != (err == nil) || ok && id != parsed.SnowflakeID() {
			t.Fatalf("%q is read as %d, %v, by ParseBase32 as %d, %v", text, parsed, err, id, idErr)
		}
		if errors.Is(err, sqltypes.ErrPrefix) {
			if _, err := snowflake.ParseBase32(text[strings.LastIndexByte(text, '_')+1:]); err != nil {
				t.Fatalf("%q is called an ID of another kind, but %v", text, err)
			}
		}

		fromText, fromParam := userID(42), userID(42)
		textErr, paramErr := fromText.UnmarshalText([]byte(text)), fromParam.UnmarshalParam(text)
		if fromText != parsed || fromParam != parsed || (textErr == nil) != (err == nil) || (paramErr == nil) != (err == nil) {
			t.Fatalf("%q is read as %d, %d, %d: %v, %v, %v", text, parsed, fromText, fromParam, err, textErr, paramErr)
		}

		want := userID(number)
		encoded, err := json.Marshal(want)
		back := userID(42)
		if err != nil || json.Unmarshal(encoded, &back) != nil || back != want {
			t.Fatalf("%d is written as %s, %v, and read back as %d", want, encoded, err, back)
		}
		if less := want.String() < userID(number/2).String(); number > 0 && less {
			t.Fatalf("%s sorts before that of half of it", want)
		}
	})
}

func FuzzTypedJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		id := userID(42)
		err := id.UnmarshalJSON(data)
		if string(data) == "null" {
			if id != 42 || err != nil {
				t.Fatalf("UnmarshalJSON(null) = %d, %v", id, err)
			}
			return
		}
		if err != nil {
			wantOneReason(t, "UnmarshalJSON", err)
			if id != 0 {
				t.Fatalf("UnmarshalJSON left %d after %v", id, err)
			}
			return
		}
		text := string(data)
		if text[0] == '"' && json.Unmarshal(data, &text) != nil {
			t.Fatalf("%q is read as %d", data, id)
		}
		if text != id.String() {
			t.Fatalf("%q is read as %d, which prints %q", data, id, id)
		}
	})
}

// Typed reads a column as an ID does.
func FuzzTypedScan(f *testing.F) {
	f.Fuzz(func(t *testing.T, column []byte) {
		got, id := userID(42), snowflake.ID(0)
		err, idErr := got.Scan(column), id.Scan(column)
		if got != userID(id) || (err == nil) != (idErr == nil) {
			t.Fatalf("Scan(%q) = %d, %v, of an ID %d, %v", column, got, err, id, idErr)
		}
		if err != nil {
			wantOneReason(t, "Scan", err)
		}
		got = 42
		if textErr := got.Scan(string(column)); got != userID(id) || (textErr == nil) != (err == nil) {
			t.Fatalf("Scan of the string %q = %d, %v", column, got, textErr)
		}
	})
}
