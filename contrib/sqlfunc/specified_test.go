package sqlfunc_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// vectors are those of the specification that the functions can express.
type vectors struct {
	Layouts struct{ Valid []struct{ Canonical string } }
	IDs     []struct {
		Layout, Unix string
		ID           snowflake.ID
		Fields       map[string]string
	}
	Bounds []struct {
		Layout, From, To string
		Lo, Hi           sqltypes.Null // an error
	}
}

func specified(tb testing.TB) (v vectors) {
	tb.Helper()
	text, err := os.ReadFile("../../docs/spec/vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || len(v.Layouts.Valid) == 0 || len(v.IDs) == 0 || len(v.Bounds) == 0 {
		tb.Fatalf("%d layouts, %d IDs, %d bounds, %v", len(v.Layouts.Valid), len(v.IDs), len(v.Bounds), err)
	}
	return v
}

// unix returns the time of nanoseconds since 1970.
func unix(tb testing.TB, nanos string) time.Time {
	tb.Helper()
	n, ok := new(big.Int).SetString(nanos, 10)
	if !ok {
		tb.Fatalf("%q is no number", nanos)
	}
	seconds, rest := new(big.Int).DivMod(n, big.NewInt(1e9), new(big.Int))
	return time.Unix(seconds.Int64(), rest.Int64()).UTC()
}

// sameTime reports whether the text of a time is that of the reader.
func (s server) sameTime(text string, at time.Time) bool {
	if s.dialect == sqldb.SQLite { // has nanoseconds if the layout has
		got, err := time.Parse(time.DateTime, text)
		return err == nil && got.Equal(at)
	}
	return text == floor(at).Format(timeForm)
}

// Times in the databases have microseconds. The functions have the tick of a time, bounds the one that begins not before:
// they are the same where a tick begins, but at the end.
func TestFunctionsPassTheVectorsOfTheSpecification(t *testing.T) {
	v := specified(t)
	test := func(t *testing.T, open func(layout snowflake.Layout, name string) server) {
		ids, bounds := 0, 0
		for i, valid := range v.Layouts.Valid {
			layout, name := parse(t, valid.Canonical), fmt.Sprint("specified", i)
			s := open(layout, name)
			read, least := s.reader(layout, name)
			for _, id := range v.IDs {
				at := unix(t, id.Unix)
				if id.Layout != valid.Canonical || !s.holds(layout, at) {
					continue
				}
				ids++
				var text, parts string
				fields := map[string]any{}
				err := s.QueryRowContext(t.Context(), read, id.ID).Scan(&text, &parts)
				if err == nil {
					decoder := json.NewDecoder(strings.NewReader(parts))
					decoder.UseNumber()
					err = decoder.Decode(&fields)
				}
				delete(fields, snowflake.FieldTime)
				if err != nil || !s.sameTime(text, at) || fmt.Sprint(fields) != fmt.Sprint(id.Fields) {
					t.Errorf("%s: %d is of %s, %v, %v, want %s, %v", valid.Canonical, id.ID, text, fields, err, at, id.Fields)
				}
			}
			for _, b := range v.Bounds {
				for nanos, want := range map[string]sqltypes.Null{b.From: b.Lo, b.To: b.Hi} {
					at := unix(t, nanos)
					if b.Layout != valid.Canonical || !want.Valid || !layout.Time(want.ID).Equal(at) ||
						at.Nanosecond()%1000 > 0 || !s.holds(layout, at) {
						continue
					}
					bounds++
					var got snowflake.ID
					err := s.QueryRowContext(t.Context(), least, at.Format(timeForm)).Scan(&got)
					if got != want.ID || err != nil {
						t.Errorf("%s: the least ID at %s is %d, %v, want %d", valid.Canonical, at, got, err, want.ID)
					}
				}
			}
		}
		if ids < 100 || bounds < 40 {
			t.Errorf("%d IDs and %d bounds were read", ids, bounds)
		}
	}
	eachServer(t, func(t *testing.T, s server) {
		test(t, func(layout snowflake.Layout, name string) server {
			s.install(t, layout, sqlfunc.WithName(name))
			return s
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(layout snowflake.Layout, name string) server { return openSQLite(t, layout, name, nil) })
	})
}
