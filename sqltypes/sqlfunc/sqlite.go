package sqlfunc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// SQLiteConn is a connection of SQLite, such as *sqlite3.SQLiteConn of github.com/mattn/go-sqlite3.
type SQLiteConn interface {
	// RegisterFunc makes the Go function impl an SQL function of this connection. If pure is true, equal arguments give
	// equal results.
	RegisterFunc(name string, impl any, pure bool) error
}

// RegisterSQLite registers the functions on a connection, since SQLite has functions only from the program. Register
// them on each connection: with mattn's driver in a ConnectHook, under a separate driver name, as the example shows.
//
//   - snowflake_layout() returns the layout's text.
//   - snowflake_time(id) returns the time in UTC as text that SQLite's date functions read
//     (https://sqlite.org/lang_datefunc.html): "2026-01-02 03:04:05.678", with nine digits of a second if the layout
//     does not count in whole milliseconds. Times after the year 9999 are an error.
//   - snowflake_parts(id) returns a JSON object with the fields in the layout's order. The time is
//     "2026-01-02T03:04:05.678000Z", truncated to microseconds; the others are numbers.
//   - snowflake_min(time) returns the smallest ID of the tick of a time in UTC, which is text in one of SQLite's forms
//     that have a date. It exists if the time is the highest field.
//   - snowflake_next() returns the next ID of the generator. It exists if gen is not nil. The worker is that of the
//     generator; the worker and fields of the options, [WithLead] and [WithLeaseTable] have no effect here.
//
// All but the last are deterministic, so indexes and generated columns may use them. NULL gives NULL. An argument that
// is not an integer, or not text for snowflake_min, is an error.
//
// A column may have DEFAULT (snowflake_next()), except an INTEGER PRIMARY KEY, for which SQLite ignores the DEFAULT and
// assigns the largest key plus 1. A table WITHOUT ROWID, or a BIGINT PRIMARY KEY, uses it. Programs without the
// functions, such as the sqlite3 shell, cannot insert a row without a key into such a table.
//
// It returns the errors of RegisterFunc, and [ErrOption] for a generator of another layout.
func (f *Functions) RegisterSQLite(conn SQLiteConn, gen *snowflake.Generator) error {
	if gen != nil && gen.Layout() != f.layout {
		return fmt.Errorf("%w: the generator's layout is %s, want %s", ErrOption, gen.Layout(), f.layout)
	}
	register := func(what string, impl any, pure bool) error {
		if err := conn.RegisterFunc(f.called(what), impl, pure); err != nil {
			return fmt.Errorf("sqlfunc: register %s: %w", f.called(what), err)
		}
		return nil
	}
	err := errors.Join(
		register("layout", f.layout.String, true),
		register("time", f.sqliteTime, true),
		register("parts", f.sqliteParts, true))
	if f.ordered() {
		err = errors.Join(err, register("min", f.sqliteMin, true))
	}
	if gen != nil {
		err = errors.Join(err, register("next", func() (int64, error) {
			id, err := gen.Next()
			return int64(id), err
		}, false))
	}
	return err
}

// sqliteID reads the argument of a function.
func (f *Functions) sqliteID(what string, arg any) (id snowflake.ID, null bool, err error) {
	if isNull(arg) {
		return 0, true, nil
	}
	if n, ok := arg.(int64); ok {
		return snowflake.ID(n), false, nil
	}
	return 0, false, f.sqliteType(what, arg, "an integer")
}

// isNull recognizes NULL as nil and as mattn's driver passes it.
func isNull(arg any) bool {
	b, ok := arg.([]byte)
	return arg == nil || ok && b == nil
}

func (f *Functions) sqliteType(what string, arg any, want string) error {
	text := fmt.Sprint(arg)
	if b, ok := arg.([]byte); ok {
		text = string(b)
	}
	return fmt.Errorf("%s: invalid argument %s, want %s", f.called(what), quoteShort(text), want)
}

const maxSQLiteYear = 9999

func (f *Functions) sqliteTime(arg any) (any, error) {
	id, null, err := f.sqliteID("time", arg)
	if null || err != nil {
		return nil, err
	}
	at := f.layout.Time(id)
	if at.Year() > maxSQLiteYear {
		return nil, fmt.Errorf("%s: the time of %d is after the year %d, the last of SQLite", f.called("time"), id, maxSQLiteYear)
	}
	if f.layout.Tick()%time.Millisecond != 0 || f.layout.Epoch().Nanosecond()%int(time.Millisecond) != 0 {
		return at.Format("2006-01-02 15:04:05.000000000"), nil
	}
	return at.Format("2006-01-02 15:04:05.000"), nil
}

func (f *Functions) sqliteParts(arg any) (any, error) {
	id, null, err := f.sqliteID("parts", arg)
	if null || err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, p := range f.places {
		value := any(int64(uint64(id) >> p.shift & uint64(p.max())))
		if p.name == snowflake.FieldTime {
			at := f.layout.Time(id)
			if at.Year() > maxSQLiteYear {
				return nil, fmt.Errorf("%s: the time of %d is after the year %d, the last of RFC 3339",
					f.called("parts"), id, maxSQLiteYear)
			}
			value = at.Format("2006-01-02T15:04:05.000000Z")
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		separator := ", "
		if i == 0 {
			separator = "{"
		}
		b.WriteString(separator + `"` + p.name + `": ` + string(text))
	}
	return b.String() + "}", nil
}

// sqliteForms are the forms of SQLite that have a date, except Julian days. Go reads a fraction of a second after
// seconds in each of them.
var sqliteForms = []string{
	"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
	"2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02T15:04Z07:00",
}

func (f *Functions) sqliteMin(arg any) (any, error) {
	if isNull(arg) {
		return nil, nil
	}
	text, ok := arg.(string)
	if !ok {
		return nil, f.sqliteType("min", arg, "text such as 2026-01-02 03:04:05.678")
	}
	for _, form := range sqliteForms {
		at, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		id, err := f.layout.MinAt(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.called("min"), err)
		}
		return int64(id), nil
	}
	return nil, f.sqliteType("min", text, "text such as 2026-01-02 03:04:05.678")
}
