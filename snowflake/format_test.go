package snowflake_test

import (
	"strconv"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestIDPrintsWhatStrconvPrints(t *testing.T) {
	for _, id := range sampleIDs() {
		want := strconv.FormatInt(int64(id), 10)
		if got := id.String(); got != want {
			t.Fatalf("String of %s = %q", want, got)
		}
		text, err := id.MarshalText()
		if string(text) != want || err != nil {
			t.Fatalf("MarshalText of %s = %q, %v", want, text, err)
		}
		text, err = id.AppendText([]byte("id="))
		if string(text) != "id="+want || err != nil {
			t.Fatalf("AppendText of %s = %q, %v", want, text, err)
		}
	}
}

// The digits are stored eight at a time, so what lies behind them must be seen to stay.
func TestAppendTextWritesNothingBehindItsText(t *testing.T) {
	for _, id := range sampleIDs() {
		want := strconv.FormatInt(int64(id), 10)
		buf := []byte("........................................")
		got, _ := id.AppendText(buf[: 2 : 2+len(want)])
		if string(got) != ".."+want {
			t.Fatalf("AppendText of %s = %q", want, got)
		}
		if &got[0] != &buf[0] {
			t.Fatalf("AppendText of %s allocated although the text fits exactly", want)
		}
		for i, c := range buf[len(got):] {
			if c != '.' {
				t.Fatalf("AppendText of %s wrote %q to byte %d behind the text", want, c, i)
			}
		}
	}
}

func TestAppendTextKeepsTheSliceItCannotGrow(t *testing.T) {
	prefix := []byte("id=")
	short := prefix[:3:3]
	first, _ := snowflake.ID(1234567890123456789).AppendText(short)
	second, _ := snowflake.ID(-5).AppendText(short)
	if string(first) != "id=1234567890123456789" || string(second) != "id=-5" || string(prefix) != "id=" {
		t.Errorf("got %q and %q from %q", first, second, prefix)
	}
}
