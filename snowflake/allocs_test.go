package snowflake_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestReadingAndWritingIDsDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	id := snowflake.ID(1234567890123456789)
	text, raw := id.String(), []byte(id.String())
	quoted := []byte(`"` + text + `"`)
	base32, base62 := id.Base32(), id.Base62()
	buf := make([]byte, 0, 32)
	var column any = int64(id) // made once: boxing is the driver's
	var got snowflake.ID
	check := func(err error) {
		if err != nil || got != id {
			t.Fatalf("got %d, %v, want %d", got, err, id)
		}
		got = 0
	}
	for name, run := range map[string]func(){
		"Parse":                     func() { var err error; got, err = snowflake.Parse(text); check(err) },
		"ParseBase32":               func() { var err error; got, err = snowflake.ParseBase32(base32); check(err) },
		"ParseBase62":               func() { var err error; got, err = snowflake.ParseBase62(base62); check(err) },
		"UnmarshalText":             func() { check(got.UnmarshalText(raw)) },
		"UnmarshalJSON of a string": func() { check(got.UnmarshalJSON(quoted)) },
		"UnmarshalJSON of a number": func() { check(got.UnmarshalJSON(raw)) },
		"Scan of an int64":          func() { check(got.Scan(column)) },
		"Scan of a local int64":     func() { check(got.Scan(int64(id))) }, // src must not escape
		"Scan of a local []byte":    func() { check(got.Scan(raw)) },
		"AppendText":                func() { buf, _ = id.AppendText(buf[:0]) },
		"Base32 appended":           func() { buf = append(buf[:0], id.Base32()...) },
		"Base62 appended":           func() { buf = append(buf[:0], id.Base62()...) },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
