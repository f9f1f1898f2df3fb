package snowflake_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

var _ encoding.TextAppender = snowflake.ID(0)

// sampleIDs returns IDs of every length and sign: the limits of int64, all powers of two and of ten with their
// neighbours, and random ones of each number of bits.
func sampleIDs() []snowflake.ID {
	ids := []snowflake.ID{0, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1234567890123456789}
	around := func(v int64) {
		for d := int64(-2); d <= 2; d++ {
			ids = append(ids, snowflake.ID(v+d), snowflake.ID(-v-d))
		}
	}
	for bit := range 63 {
		around(1 << bit)
	}
	for power := int64(1e18); power > 0; power /= 10 {
		around(power)
	}
	for head := range int64(923) { // all that are before the last 16 digits
		ids = append(ids, snowflake.ID(head*1e16+1))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 64 {
		for range 200 {
			id := snowflake.ID(random.Uint64() >> shift)
			ids = append(ids, id, -id)
		}
	}
	return ids
}

func TestIDPrintsAsDigits(t *testing.T) {
	for format, want := range map[string]string{
		"%d": "255", "%v": "255", "%s": "255", "%q": `"255"`, "%08d": "00000255", "%x": "323535", // documented: ID is a Stringer
	} {
		if got := fmt.Sprintf(format, snowflake.ID(255)); got != want {
			t.Errorf("Sprintf(%q) = %q, want %q", format, got, want)
		}
	}
	if id := snowflake.ID(5); id.GormDataType() != "bigint" || !id.LogValue().Equal(slog.StringValue("5")) || id.IsZero() {
		t.Errorf("%q, %v, %v", id.GormDataType(), id.LogValue(), id.IsZero())
	}
}

// canonical is the rule for decimal text in terms of strconv: it is what the number prints.
func canonical(text string) (snowflake.ID, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return snowflake.ID(number), err == nil && strconv.FormatInt(number, 10) == text
}

// addTexts adds one seed for each branch of a reader of decimal text.
func addTexts(add func(text string)) {
	for text := range strings.FieldsSeq("- 0 -0 5 -5 +5 007 1234567 12345678 175928847299117063 9223372036854775807 " +
		"-9223372036854775808 9223372036854775808 12345678/0123456789 1e18 77.00") {
		add(text)
	}
}

func FuzzParse(f *testing.F) {
	addTexts(func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) { checkParse(t, text) })
}

// The oracle reads the JSON value as what it is, a string or a number, and applies the rule for text to it.
func FuzzIDJSON(f *testing.F) {
	addTexts(func(text string) {
		f.Add([]byte(text))
		f.Add([]byte(`"` + text + `"`))
	})
	for _, text := range []string{"null", "true", "[1]", `{"id":"1"}`, `"\u0031\u00320"`, `"\u003"`, `"`, ` "5" `, "1 2"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const before = 42
		want, ok := snowflake.ID(before), false
		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if json.Valid(data) && decoder.Decode(&value) == nil {
			switch value := value.(type) {
			case nil:
				ok = true
			case string:
				want, ok = canonical(value)
			case json.Number:
				want, ok = canonical(value.String())
			}
		}
		id := snowflake.ID(before)
		err := json.Unmarshal(data, &id)
		if (err == nil) != ok {
			t.Fatalf("Unmarshal(%q) = %d, %v, want success: %v", data, id, err, ok)
		}
		if !ok {
			want = before
		}
		if id != want {
			t.Fatalf("Unmarshal(%q) = %d, %v, want %d", data, id, err, want)
		}
		text, err := json.Marshal(id)
		var back snowflake.ID
		if err != nil || json.Unmarshal(text, &back) != nil || back != id {
			t.Fatalf("%d is written as %s, %v, and read back as %d", id, text, err, back)
		}
		_ = back.UnmarshalJSON(data) // must not panic on what is not JSON
	})
}
