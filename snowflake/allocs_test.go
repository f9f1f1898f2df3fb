//go:build !race

package snowflake_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The race detector allocates on its own.
func TestReadingWritingAndTakingIDsDoesNotAllocate(t *testing.T) {
	id := snowflake.ID(1234567890123456789)
	text, raw := id.String(), []byte(id.String())
	quoted := []byte(`"` + text + `"`)
	base32, base62 := id.Base32(), id.Base62()
	buf := make([]byte, 0, 32)
	var column any = int64(id) // made once: boxing is the driver's
	var got snowflake.ID
	var err error
	g, batch := mustNew(t, 6), make([]snowflake.ID, 1000)
	for name, run := range map[string]func(){
		"Parse":                     func() { got, err = snowflake.Parse(text) },
		"ParseBase32":               func() { got, err = snowflake.ParseBase32(base32) },
		"ParseBase62":               func() { got, err = snowflake.ParseBase62(base62) },
		"UnmarshalText":             func() { err = got.UnmarshalText(raw) },
		"UnmarshalJSON of a string": func() { err = got.UnmarshalJSON(quoted) },
		"UnmarshalJSON of a number": func() { err = got.UnmarshalJSON(raw) },
		"Scan of an int64":          func() { err = got.Scan(column) },
		"Scan of a local int64":     func() { err = got.Scan(int64(id)) }, // src must not escape
		"Scan of a local []byte":    func() { err = got.Scan(raw) },
		"AppendText":                func() { buf, err = id.AppendText(buf[:0]) },
		"Base32 appended":           func() { buf = append(buf[:0], id.Base32()...) },
		"Base62 appended":           func() { buf = append(buf[:0], id.Base62()...) },
		"Next":                      func() { _, err = g.Next() },
		"NextContext":               func() { _, err = g.NextContext(t.Context()) },
		"Fill":                      func() { err = g.Fill(t.Context(), batch) },
	} {
		got = id
		if n := testing.AllocsPerRun(100, run); n != 0 || got != id || err != nil {
			t.Errorf("%s: %v allocations, want 0; got %d, %v, want %d", name, n, got, err, id)
		}
	}
}
