package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// onEach runs f with a configuration for SQLite and one for PostgreSQL, each with an empty database.
func onEach(t *testing.T, f func(t *testing.T, cfg config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		f(t, config{file: filepath.Join(t.TempDir(), "quickstart.db"), worker: 1})
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, config{dsn: testdb.Postgres(t).DSN, worker: 1})
	})
}

func (c config) args() []string {
	if c.dsn != "" {
		return []string{"-dsn", c.dsn}
	}
	return []string{"-db", c.file}
}

func openTest(t *testing.T, cfg config) *gorm.DB {
	t.Helper()
	generator, err := snowflake.New(cfg.worker)
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(t.Context(), cfg, gormplugin.New(generator))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return db
}

func runHere(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return out.String(), errs.String(), code
}

func rows(t *testing.T, db *gorm.DB) counts {
	t.Helper()
	count := func(table string) int {
		var n int64
		if err := db.Table(table).Count(&n).Error; err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	return counts{count("countries"), count("zones"), count("country_zones")}
}

func TestEveryRowOfTheInputIsStoredOnce(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		out, errs, code := runHere(t.Context(), cfg.args()...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		for _, want := range []string{
			"stored 249 countries, 312 zones and 423 links",
			"countries: 249 lines of input, 249 found",
			"zones:     312 lines of input, 312 found",
			"links:     423 in those lines, 423 found",
			"Andorra", "Europe/Andorra", `"name": "Germany"`, "249 rows", "bytes",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in the output:\n%s", want, out)
			}
		}
		if !regexp.MustCompile(`"id": "[0-9]{15,19}"`).MatchString(out) {
			t.Errorf("no key as a string in:\n%s", out)
		}
		want := counts{249, 312, 423}
		db := openTest(t, cfg)
		if got := rows(t, db); got != want {
			t.Errorf("rows %+v, want %+v", got, want)
		}

		out, errs, code = runHere(t.Context(), cfg.args()...)
		if code != 0 || !strings.Contains(out, "nothing new") {
			t.Errorf("the second time: exit code %d, %s:\n%s", code, errs, out)
		}
		if got := rows(t, db); got != want {
			t.Errorf("rows after the second time %+v, want %+v", got, want)
		}
	})
}

const (
	someCountries = "CH\tSwitzerland\nDE\tGermany\n"
	moreCountries = someCountries + "LI\tLiechtenstein\n"
	someZones     = "CH\t+4723+00832\tEurope/Zurich\n"
	moreZones     = "CH,DE,LI\t+4723+00832\tEurope/Zurich\nDE\t+5230+01322\tEurope/Berlin\n"
)

func TestLaterInputAddsWhatIsNew(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		db := openTest(t, cfg)
		for _, step := range []struct {
			countries, zones string
			added, rows      counts
		}{
			{someCountries, someZones, counts{2, 1, 1}, counts{2, 1, 1}},
			{moreCountries, moreZones, counts{1, 1, 3}, counts{3, 2, 4}},
			{moreCountries, moreZones, counts{}, counts{3, 2, 4}},
			{someCountries, someZones, counts{}, counts{3, 2, 4}},
		} {
			data := mustParse(t, step.countries, step.zones)
			added, err := load(db, data)
			if err != nil || added != step.added {
				t.Errorf("added %+v, error %v, want %+v", added, err, step.added)
			}
			if got := rows(t, db); got != step.rows {
				t.Errorf("rows %+v, want %+v", got, step.rows)
			}
			if found, lines, err := missing(db, data); err != nil || lines != nil || found != data.size() {
				t.Errorf("found %+v, missing %q, error %v", found, lines, err)
			}
		}
	})
}

func TestLostOrChangedRowIsNamed(t *testing.T) {
	data := mustParse(t, moreCountries, moreZones)
	for statement, want := range map[string]string{
		"DELETE FROM country_zones WHERE zone_id = (SELECT id FROM zones WHERE name = 'Europe/Berlin')": "zone Europe/Berlin in country DE",
		"UPDATE countries SET name = 'Helvetia' WHERE code = 'CH'":                                      "country CH",
		"UPDATE zones SET latitude = 0 WHERE name = 'Europe/Zurich'":                                    "zone Europe/Zurich",
		"UPDATE zones SET name = 'x' WHERE name = 'Europe/Berlin'":                                      "zone Europe/Berlin",
	} {
		onEach(t, func(t *testing.T, cfg config) {
			db := openTest(t, cfg)
			if _, err := load(db, data); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
			_, lines, err := missing(db, data)
			if err != nil || len(lines) == 0 || lines[0] != want {
				t.Errorf("%s: missing %q, error %v, want %q", statement, lines, err, want)
			}
		})
	}
}

func TestLossIsAFailure(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		if _, errs, code := runHere(t.Context(), cfg.args()...); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		// A country under another name is not stored again, since its code is there, but it is not the input's either.
		if err := openTest(t, cfg).Exec("UPDATE countries SET name = 'Helvetia' WHERE code = 'CH'").Error; err != nil {
			t.Fatal(err)
		}
		out, errs, code := runHere(t.Context(), cfg.args()...)
		if code != exitFailure || !strings.Contains(errs, "quickstart: not in the database: country CH") {
			t.Errorf("exit code %d, errors %q", code, errs)
		}
		if !strings.Contains(out, "countries: 249 lines of input, 248 found") {
			t.Errorf("output:\n%s", out)
		}
	})
}

func mustParse(t *testing.T, countries, zones string) tzdata {
	t.Helper()
	data, err := parseTzdata(countries, zones)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestInterruptedImportStoresNothing interrupts an import after its first statement, then after its second, and so on
// until one ends before it is interrupted.
func TestInterruptedImportStoresNothing(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		db := openTest(t, cfg)
		before := mustParse(t, someCountries, someZones)
		if _, err := load(db, before); err != nil {
			t.Fatal(err)
		}
		var after func()
		if err := db.Callback().Create().After("gorm:create").Register("test:after", func(*gorm.DB) { after() }); err != nil {
			t.Fatal(err)
		}
		interrupted := 0
		for statements := 1; ; statements++ {
			ctx, cancel := context.WithCancel(t.Context())
			left := statements
			after = func() {
				if left--; left == 0 {
					cancel()
				}
			}
			_, err := load(db.WithContext(ctx), mustParse(t, moreCountries, moreZones))
			cancel()
			if err == nil {
				break
			}
			interrupted++
			if got := rows(t, db); got != before.size() {
				t.Fatalf("rows %+v after an interrupt at statement %d, want %+v", got, statements, before.size())
			}
		}
		if interrupted < 4 { // a country, its zones, its links; a link of a country that was there
			t.Errorf("%d statements were interrupted, want 4 or more", interrupted)
		}
	})
}

func TestCodesAndNamesAreUnique(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		db := openTest(t, cfg)
		if _, err := load(db, mustParse(t, someCountries, someZones)); err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&Country{Code: "CH", Name: "Switzerland"}).Error; err == nil {
			t.Error("a second country CH was stored")
		}
		if err := db.Create(&Zone{Name: "Europe/Zurich"}).Error; err == nil {
			t.Error("a second zone Europe/Zurich was stored")
		}
	})
}

func TestInterruptIsTheExitCode(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, errs, code := runHere(ctx, cfg.args()...); code != exitInterrupted || !strings.Contains(errs, "interrupted") {
			t.Errorf("exit code %d, errors %q", code, errs)
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
			<-t.Context().Done() // and never an answer
		}
	}()
	_, errs, code := runHere(ctx, "-dsn", "postgres://u@"+silent.Addr().String()+"/test?sslmode=disable")
	if code != exitInterrupted {
		t.Errorf("exit code %d, errors %q", code, errs)
	}
}

func TestBadCommandLineIsExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"file"}, exitUsage, `unexpected argument "file"`},
		{[]string{"-db", "a", "-dsn", "b"}, exitUsage, "-db and -dsn exclude each other"},
		{[]string{"-db", ""}, exitUsage, "-db is empty"},
		{[]string{"-db="}, exitUsage, "-db is empty"},
		{[]string{"-dsn="}, exitUsage, "-dsn is empty"},
		{[]string{"-worker", "x"}, exitUsage, `invalid value "x" for flag -worker`},
		{[]string{"-worker", "1024"}, exitFailure, "1024"},
		{[]string{"-worker", "-1"}, exitFailure, "-1"},
		{[]string{"-db", "a?b"}, exitFailure, "-db a?b: the driver takes what follows a '?' for options"},
		{[]string{"-db", "none/quickstart.db"}, exitFailure, "open none/quickstart.db: "},
		{[]string{"-dsn", "postgres://u:secret@127.0.0.1:1/test"}, exitFailure, "open the PostgreSQL of -dsn: "},
	} {
		_, errs, code := runHere(t.Context(), tt.args...)
		if code != tt.code || !strings.HasPrefix(errs, "quickstart: ") || !strings.Contains(errs, tt.want) {
			t.Errorf("%q: exit code %d, errors %q, want %d and %q", tt.args, code, errs, tt.code, tt.want)
		}
		if strings.Contains(errs, "secret") {
			t.Errorf("%q: the password is printed: %s", tt.args, errs)
		}
	}
}

func TestHelpShowsAnExample(t *testing.T) {
	out, _, code := runHere(t.Context(), "-h")
	if code != 0 || !strings.Contains(out, "go run ./examples/quickstart -dsn postgres://") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
