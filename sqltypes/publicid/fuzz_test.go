package publicid_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// An ID has one token, and only this token is read. The fuzzer cannot find a token by itself, so each text that is a
// number of 128 bits is also used as a mask of changed bits of a token.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "24VK6RXN3159AMNS3P94TYGM5O", "80000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"7n42DGM5Tflk9n8mt7Fhc8", "25wNtkKMG3Uh0s8rda5Xu-", "7n42DGM5Tflk9n8mt7Fhc7",
	} {
		f.Add(text, int64(math.MaxInt64))
	}
	f.Fuzz(func(t *testing.T, text string, number int64) {
		fuzzCodec(t, text, number)
	})
}

func fuzzCodec(t *testing.T, text string, number int64) {
	codec := mustCodec("user", newKey+","+oldKey)
	id, err := codec.Parse(text)
	if err == nil {
		if text != mustToken(t, codec, id) && text != mustToken(t, mustCodec("user", oldKey), id) {
			t.Fatalf("%q is read as %d, which has other tokens", text, id)
		}
	} else if id != 0 || !errors.Is(err, publicid.ErrToken) {
		t.Fatalf("Parse(%q) = %d, %v", text, id, err)
	}

	token, err := codec.Token(snowflake.ID(number))
	if number <= 0 {
		if token != "" || !errors.Is(err, publicid.ErrNoToken) {
			t.Fatalf("Token(%d) = %q, %v", number, token, err)
		}
		return
	}
	if back, parseErr := codec.Parse(token); int64(back) != number || err != nil || parseErr != nil {
		t.Fatalf("%d has the token %q, %v, which is read as %d, %v", number, token, err, back, parseErr)
	}
	if len(text) != length || strings.Trim(text, alphabet) != "" {
		return
	}
	mixed := textOf(new(big.Int).Xor(numberOf(token), numberOf(text))) // cut to the length if it is too large
	if back, err := codec.Parse(mixed); err == nil && int64(back) == number && mixed != token {
		t.Fatalf("%q and %q are both read as %d", token, mixed, number)
	}
}

// The blocks of a codec, without the cipher: a text is read if and only if it is the text of 128 bits.
func FuzzBlock(f *testing.F) {
	f.Add("", uint64(0), uint64(math.MaxUint64))
	f.Add("000000000000-000000000", uint64(839299365868340223), uint64(839299365868340224)) // about 62^10
	f.Add("", uint64(839299365868340224), uint64(0))
	f.Fuzz(func(t *testing.T, text string, high, low uint64) {
		number := new(big.Int).SetUint64(high)
		number.Add(number.Lsh(number, 64), new(big.Int).SetUint64(low))
		block := publicid.Block{High: high, Low: low}
		written := block.Text()
		if want := textOf(number); written != want {
			t.Fatalf("%x is written as %q, want %q", block, written, want)
		}

		if got, ok := publicid.ReadForTest(written); got != block || !ok {
			t.Fatalf("%q of %x is read as %x, %v", written, block, got, ok)
		}

		want := len(text) == length && strings.Trim(text, alphabet) == "" && numberOf(text).BitLen() <= 128
		if got, ok := publicid.ReadForTest(text); ok != want || ok && got.Text() != text {
			t.Fatalf("%q is read as %x, %v, want %v", text, got, ok, want)
		}
	})
}

// JSON is read if it is a string with a token, null, or a token without quotes, which the option string removes.
// encoding/json removes spaces around a value.
func FuzzIDJSON(f *testing.F) {
	for _, text := range []string{
		`"\x"`, "62KPT85MMRA2SBDH91SM9C0N2V", `""`, `"\u00362KPT85MMRA2SBDH91SM9C0N2V"`, "null",
		"5", "175907170989793351", "-1", "1e3", "true", "false", "[]", "{}", `["5"]`, `"5"`, `"null"`, `"\u0035"`,
		"", `"`, `"\"`, "nul", // encoding/json never passes these
	} {
		f.Add([]byte(text))
	}

	token := userID(number).String()
	f.Add(fmt.Appendf(nil, `"\u%04x%s"`, token[0], token[1:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		id := userID(42)
		err := id.UnmarshalJSON(data)
		if string(data) == "null" {
			if id.SnowflakeID() != 42 || err != nil {
				t.Fatalf("null is read as %d, %v", id.SnowflakeID(), err)
			}
			return
		}

		var text string
		if len(bytes.TrimSpace(data)) < len(data) || json.Unmarshal(data, &text) != nil {
			text = string(data)
		}

		want, wantErr := users.Parse(text)
		if (err == nil) != (wantErr == nil) || id.SnowflakeID() != want || err != nil && !errors.Is(err, publicid.ErrToken) {
			t.Fatalf("%q is read as %d, %v, want %d, %v", data, id.SnowflakeID(), err, want, wantErr)
		}
	})
}
