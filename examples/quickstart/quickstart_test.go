package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// onEach runs f with an empty SQLite file and with an empty PostgreSQL database.
func onEach(t *testing.T, f func(t *testing.T, args []string, db *gorm.DB)) {
	t.Helper()
	open := func(t *testing.T, dialector gorm.Dialector) *gorm.DB {
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if pool, err := db.DB(); err == nil {
			t.Cleanup(func() { pool.Close() })
		}
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "quickstart.db")
		f(t, []string{"-db", file}, open(t, sqlite.Open(file)))
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := testdb.Postgres(t).DSN
		f(t, []string{"-dsn", dsn}, open(t, postgres.Open(dsn)))
	})
}

// checkRows compares the database with the files: every country with its zones, and nothing else.
func checkRows(t *testing.T, db *gorm.DB) {
	t.Helper()
	byName := func(db *gorm.DB) *gorm.DB { return db.Order("name") }
	var stored []*Country
	if err := db.Preload("Zones", byName).Find(&stored).Error; err != nil {
		t.Fatal(err)
	}
	text := func(countries []*Country) (lines []string) {
		for _, c := range countries {
			slices.SortFunc(c.Zones, func(a, b *Zone) int { return strings.Compare(a.Name, b.Name) })
			lines = append(lines, c.Code+" "+c.Name)
			for _, z := range c.Zones {
				lines = append(lines, c.Code+" "+z.Name+" "+z.Comment)
			}
		}
		slices.Sort(lines)
		return lines
	}
	if got, want := text(stored), text(readFiles()); !slices.Equal(got, want) {
		t.Errorf("stored %d rows, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
}

func TestEveryRowOfTheFilesIsStoredOnce(t *testing.T) {
	onEach(t, func(t *testing.T, args []string, db *gorm.DB) {
		for _, first := range []string{"Storing the countries", "The rows are there"} {
			var out strings.Builder
			if err := run(t.Context(), args, &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				first, "249 rows in countries\n", "312 rows in zones\n", "423 rows in country_zones\n",
				"sequence 0  Andorra: 1 zones\n", `"name": "Germany"`, "\n249 rows\n",
			} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in the output:\n%s", want, out.String())
				}
			}
			if !regexp.MustCompile(`"id": "[0-9]{15,19}"`).MatchString(out.String()) {
				t.Errorf("no key as a string in:\n%s", out.String())
			}
			checkRows(t, db)
		}
		for _, record := range []any{&Country{Code: "CH", Name: "Switzerland"}, &Zone{Name: "Europe/Zurich"}} {
			if err := db.Create(record).Error; err == nil {
				t.Errorf("%+v was stored a second time", record)
			}
		}
	})
}

func TestSeveralAtOnceStoreEveryRowOnce(t *testing.T) {
	onEach(t, func(t *testing.T, args []string, db *gorm.DB) {
		var wg sync.WaitGroup
		outputs := make([]strings.Builder, 4)
		for i := range outputs {
			wg.Go(func() {
				if err := run(t.Context(), args, &outputs[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		stored := 0
		for i := range outputs {
			stored += strings.Count(outputs[i].String(), "Storing")
		}
		if stored != 1 {
			t.Errorf("%d stored the rows, want 1", stored)
		}
		checkRows(t, db)
	})
}

// TestInterruptedImportStoresNothing interrupts after the first Create, then after the second, until none is left.
func TestInterruptedImportStoresNothing(t *testing.T) {
	onEach(t, func(t *testing.T, _ []string, db *gorm.DB) {
		plugin, err := gormplugin.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer plugin.Close(context.Background()) //nolint:errcheck // the database is removed next
		var after func()
		if err := db.Callback().Create().After("gorm:create").Register("test:after", func(*gorm.DB) { after() }); err != nil {
			t.Fatal(err)
		}
		for statements := 1; ; statements++ {
			ctx, cancel := context.WithCancel(t.Context())
			left := statements
			after = func() {
				if left--; left == 0 {
					cancel()
				}
			}
			err := load(db.WithContext(ctx), &strings.Builder{})
			cancel()
			if err == nil {
				if statements < 4 { // countries, zones, the join table
					t.Errorf("%d statements, want 3", statements-1)
				}
				return
			}
			if db.Migrator().HasTable(&Country{}) {
				t.Fatalf("an import that was interrupted after statement %d left a table", statements)
			}
		}
	})
}

func TestInterruptEndsTheWaitForAServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := silent.Accept(); err == nil {
			defer conn.Close()
			cancel()
			<-t.Context().Done() // no answer
		}
	}()
	err = run(ctx, []string{"-dsn", "postgres://u@" + silent.Addr().String() + "/test?sslmode=disable"}, &strings.Builder{})
	if !errors.Is(err, context.Canceled) { // whose text differs if the dial is still under way
		t.Errorf("error %v, want that the context was canceled", err)
	}
}

func TestFailuresAreErrorsWithoutThePassword(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"file"}, `unexpected argument "file"`},
		{[]string{"-db", ""}, "-db is empty"},
		{[]string{"-dsn="}, "-dsn is empty"},
		{[]string{"-worker", "1"}, "flag provided but not defined: -worker"},
		{[]string{"-db", "none/quickstart.db"}, "unable to open database file"},
		{[]string{"-dsn", "postgres://u:secret@127.0.0.1:1/test"}, "127.0.0.1"},
	} {
		err := run(t.Context(), tt.args, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want %q", tt.args, err, tt.want)
		}
	}
}
