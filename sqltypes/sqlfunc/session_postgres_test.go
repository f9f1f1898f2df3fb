package sqlfunc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// The session's time zone and date style must not matter.
func TestPostgresFunctionsDoNotDependOnTheSession(t *testing.T) {
	db := openPostgres(t)
	long, err := snowflake.ParseLayout("epoch=1999-10-11T02:30:00.5Z tick=1ms time:51 sequence:12")
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"TimeZone = 'America/New_York'", "TimeZone = 'Asia/Kolkata'", "TimeZone = 'Africa/Casablanca'",
		"DateStyle = 'SQL, DMY'", "DateStyle = 'German, DMY'", "DateStyle = 'Postgres, MDY'", "DateStyle = 'ISO, YMD'",
		"IntervalStyle = 'sql_standard'", "extra_float_digits = -15", "standard_conforming_strings = off",
	} {
		t.Run(setting, func(t *testing.T) {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(setting, " ")
			defer func() {
				_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "RESET "+name)
				if err := errors.Join(err, conn.Close()); err != nil {
					t.Error(err)
				}
			}()
			if _, err := conn.ExecContext(t.Context(), "SET "+setting); err != nil {
				t.Fatal(err)
			}
			for name, layout := range map[string]snowflake.Layout{"a": snowflake.Default(), "b": preset("mastodon"), "c": long} {
				f := db.functions(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(0))
				if err := f.Install(t.Context(), conn, sqldb.Postgres); err != nil {
					t.Fatal(err)
				}
				// Around the changes of daylight saving time in New York and Casablanca.
				for hour := range 3 * 24 {
					at := time.Date(2026, 3, 7+hour/24*8, hour%24, 30, 1, 5000000, time.UTC)
					want, err := layout.MinAt(at)
					if err != nil {
						t.Fatal(err)
					}
					var id snowflake.ID
					var back time.Time
					if err := conn.QueryRowContext(t.Context(), "SELECT "+name+"_min($1), "+name+"_time($2), "+name+"_next() > 0", at, want).
						Scan(&id, &back, new(bool)); err != nil || id != want || !back.Equal(layout.Time(want)) {
						t.Fatalf("%v: %d and %v, want %d and %v, %v", at, id, back, want, layout.Time(want), err)
					}
				}
			}
		})
	}
}

// A rollback would make the state forget IDs that were issued in the transaction.
func TestInstallIsRefusedInATransaction(t *testing.T) {
	db := openPostgres(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1))
	tx := db.begin(t)
	if err := f.Install(t.Context(), tx, sqldb.Postgres); !errors.Is(err, sqlfunc.ErrOption) {
		t.Errorf("%v, want ErrOption", err)
	}
}

func TestInstallNamesTheStatementThatFailed(t *testing.T) {
	db := openPostgres(t)
	f, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithSchema(db.schema+"_missing"))
	if err != nil {
		t.Fatal(err)
	}
	err = f.Install(t.Context(), db, sqldb.Postgres)
	if err == nil || !strings.Contains(err.Error(), "sqlfunc: install: statement 2 of 9: ") {
		t.Errorf("error %v", err)
	}
}
