package sqltypes_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestTextIsBase32InTheColumn(t *testing.T) {
	for id, want := range map[snowflake.ID]string{
		0: "0000000000000", 1: "0000000000001", 31: "000000000000Z", 32: "0000000000010",
		math.MaxInt64: "7ZZZZZZZZZZZZ", math.MinInt64: "8000000000000", -1: "FZZZZZZZZZZZZ",
	} {
		if got, err := sqltypes.Text(id).Value(); got != want || err != nil {
			t.Errorf("Value of %d = %v, %v, want %s", id, got, err, want)
		}
	}
}

func TestTextRefusesWhatItDoesNotWrite(t *testing.T) {
	for src, want := range map[string]error{
		"175928847299117063":    snowflake.ErrSyntax, // decimal
		"000000000000z":         snowflake.ErrSyntax, // lower case
		"00000000000O0":         snowflake.ErrSyntax, // Crockford's decoder takes this O for a 0
		"0000000000001  ":       snowflake.ErrSyntax, // from a char(15)
		" 000000000001":         snowflake.ErrSyntax,
		"000000000001":          snowflake.ErrSyntax,
		"00000-0000001":         snowflake.ErrSyntax,
		"00000000000\xc3\xa9":   snowflake.ErrSyntax,
		"G000000000000":         snowflake.ErrRange,
		"ZZZZZZZZZZZZZ":         snowflake.ErrRange,
		"0000000000001\x00\x00": snowflake.ErrSyntax,
	} {
		for _, src := range []any{src, []byte(src)} {
			text := sqltypes.Text(42)
			if err := text.Scan(src); !errors.Is(err, want) || text != 0 {
				t.Errorf("Scan(%T %q) = %d, %v, want 0 and %v", src, src, text, err, want)
			}
		}
	}
}

// The comment of Text warns of it.
func TestTextReadsThirteenDecimalDigitsAsAnotherID(t *testing.T) {
	decimal := snowflake.ID(1234567890123)
	var text sqltypes.Text
	if err := text.Scan(decimal.String()); err != nil || text == sqltypes.Text(decimal) {
		t.Errorf("Scan(%s) = %d, %v, want another ID", decimal, text, err)
	}
}
