package sqlfunc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// RegisterSQLite registers the functions on a connection, such as *sqlite3.SQLiteConn of github.com/mattn/go-sqlite3,
// since SQLite has functions only from the program. Register them on each connection: with mattn's driver in a
// ConnectHook, under a separate driver name, as the example shows.
//
//   - snowflake_layout() returns the layout's text.
//   - snowflake_time(id) returns the time in UTC as text that SQLite's date functions read
//     (https://sqlite.org/lang_datefunc.html): "2026-01-02 03:04:05.678", with nine digits of a second if the layout
//     does not count in whole milliseconds. Times after the year 9999 are an error.
//   - snowflake_parts(id) returns a JSON object with the fields in the layout's order. The time is
//     "2026-01-02T03:04:05.678000Z", truncated to microseconds; the others are numbers.
//   - snowflake_min(time) returns the smallest ID of the Layout.Period of a time in UTC, which is text in one of
//     SQLite's forms that have a date. It exists if the time is the highest field.
//   - snowflake_next() returns the next ID of the generator. It exists if gen is not nil. It has the generator's
//     worker; the worker and fields of the options, [WithLead] and [WithLeaseTables] have no effect here.
//
// All but the last are deterministic, so indexes and generated columns may use them. NULL gives NULL. An argument that
// is not an integer, or not text for snowflake_min, is an error.
//
// A column may have DEFAULT (snowflake_next()), except an INTEGER PRIMARY KEY, for which SQLite ignores the DEFAULT and
// assigns the largest key plus 1. A table WITHOUT ROWID, or a BIGINT PRIMARY KEY, uses it. Programs without the
// functions, such as the sqlite3 shell, cannot insert a row without a key into such a table.
//
// It returns the errors of RegisterFunc, and [ErrOption] for a generator of another layout.
func (f *Functions) RegisterSQLite(conn interface {
	RegisterFunc(name string, impl any, pure bool) error
}, gen *snowflake.Generator,
) error {
	if gen != nil && gen.Layout() != f.layout {
		return fmt.Errorf("%w: the generator's layout is %s, want %s", ErrOption, gen.Layout(), f.layout)
	}

	var errs []error
	register := func(what string, impl any, pure bool) {
		if err := conn.RegisterFunc(f.called(what), impl, pure); err != nil {
			errs = append(errs, fmt.Errorf("sqlfunc: register %s: %w", f.called(what), err))
		}
	}
	register("layout", f.layout.String, true)
	register("time", f.sqliteReader("time", f.sqliteTime), true)
	register("parts", f.sqliteReader("parts", f.sqliteParts), true)
	if f.ordered() {
		register("min", f.sqliteMin, true)
	}

	if gen != nil {
		register("next", func() (int64, error) {
			id, err := gen.Next()
			return int64(id), err
		}, false)
	}

	return errors.Join(errs...)
}

// sqliteReader returns a function of an ID and its time.
func (f *Functions) sqliteReader(
	what string, read func(id snowflake.ID, at time.Time) string,
) func(arg any) (any, error) {
	return func(arg any) (any, error) {
		if isNull(arg) {
			return nil, nil
		}

		number, ok := arg.(int64)
		if !ok {
			return nil, f.sqliteArgument(what, arg, "an integer")
		}

		id := snowflake.ID(number)
		at := f.layout.Time(id)
		if at.Year() > 9999 {
			return nil, fmt.Errorf("%s: the time of %d is after the year 9999, the last of SQLite", f.called(what), id)
		}

		return read(id, at), nil
	}
}

// isNull recognizes NULL as nil and as mattn's driver passes it.
func isNull(arg any) bool {
	if bytes, ok := arg.([]byte); ok {
		return bytes == nil
	}
	return arg == nil
}

func (f *Functions) sqliteArgument(what string, arg any, want string) error {
	if b, ok := arg.([]byte); ok {
		arg = string(b)
	}
	return fmt.Errorf("%s: invalid argument %s, want %s", f.called(what), quoteShort(fmt.Sprint(arg)), want)
}

func (f *Functions) sqliteTime(_ snowflake.ID, at time.Time) string {
	if f.layout.Tick()%time.Millisecond != 0 || f.layout.Epoch().Nanosecond()%int(time.Millisecond) != 0 {
		return at.Format("2006-01-02 15:04:05.000000000")
	}
	return at.Format("2006-01-02 15:04:05.000")
}

func (f *Functions) sqliteParts(id snowflake.ID, at time.Time) string {
	var values []string
	for _, p := range f.places {
		value := strconv.FormatUint(uint64(id)>>p.shift&uint64(p.max()), 10)
		if p.name == snowflake.FieldTime {
			value = at.Format(`"2006-01-02T15:04:05.000000Z"`)
		}
		values = append(values, fmt.Sprintf("%q: %s", p.name, value))
	}
	return "{" + strings.Join(values, ", ") + "}"
}

func (f *Functions) sqliteMin(arg any) (any, error) {
	if isNull(arg) {
		return nil, nil
	}

	text, _ := arg.(string)
	// SQLite's time values that have a date, except Julian days. Go reads a fraction of a second after seconds in each.
	forms := []string{
		"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
	}
	for _, day := range forms {
		at, err := time.Parse(day, text)
		if err != nil && day != time.DateOnly {
			at, err = time.Parse(day+"Z07:00", text)
		}

		if err != nil {
			continue
		}

		id, err := f.layout.MinAt(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.called("min"), err)
		}

		return int64(id), nil
	}

	return nil, f.sqliteArgument("min", arg, "text such as 2026-01-02 03:04:05.678")
}
