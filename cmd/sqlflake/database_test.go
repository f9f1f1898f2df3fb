package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TestNoPasswordIsPrinted passes DSNs to the right flag and to wrong ones, with servers that are not there.
func TestNoPasswordIsPrinted(t *testing.T) {
	const secret = "Geh%65im-17"
	t.Chdir(t.TempDir()) // for files with these names, if there are any
	for _, dsn := range []string{
		"postgres://app:a@b" + secret + "@127.0.0.1:one/shop",
		"postgres://app:a/b" + secret + "@127.0.0.1:1/shop",
		"app:im-17:" + secret + "@tcp(127.0.0.1:1/shop",
		`user=app password='a\'b ` + secret + `' host=127.0.0.1 port=one`,
		`user=app password='a b` + secret + ` host=127.0.0.1 port=1`,
		"app:a/b" + secret + "@tcp(127.0.0.1:1)",
		"app:a(b " + secret + "@tcp(127.0.0.1:1/shop",
		"user=app  password = a@b" + secret + " host=127.0.0.1 port=one",
		"postgres://app:" + secret + "@127.0.0.1:1/shop",
		"postgresql://app:" + secret + "@127.0.0.1:1/shop?sslmode=nonsense",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop",
		"app:" + secret + "@nonsense(127.0.0.1:1)/shop",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop?timeout=long",
		"mysql://app:" + secret + "@127.0.0.1:1/shop",
		// These were printed, whole or in part.
		"postgres://app:im-17/b@127.0.0.1:1/shop", // the rest is taken for host and port, or for the database
		"postgres://app:im-17?b@127.0.0.1:1/shop",
		"postgres://app:im-17#b@127.0.0.1:1/shop",
		"postgres://app:1/" + secret + "@127.0.0.1:1/shop",
		"postgres://127.0.0.1:1?" + secret + "@127.0.0.1:1/shop",
		"postgres://127.0.0.1:1/shop?sslmode=" + secret,
		"postgres://app:" + secret,
		"postgres://app:" + secret + "%40127.0.0.1:1/shop",
		"postgres://127.0.0.1:1/shop?PASSWORD=" + secret,
		"postgres://127.0.0.1:1/shop?p%61ssword=" + secret,
		"user=app password=a " + secret + " host=127.0.0.1 port=1",
		"user=app password=a " + secret + "=b host=127.0.0.1 port=1",
		`user=app password="a ` + secret + `" host=127.0.0.1 port=1`,
		"Server=127.0.0.1;Port=1;User Id=app;Pwd=" + secret,
		"app:a@" + secret + "(127.0.0.1:1)/shop",
		"app: " + secret + "@tcp(127.0.0.1:1)/shop",
		"app:a\n" + secret + "@tcp(127.0.0.1:1)",
		"app:" + secret + "@unix(/none)/shop?x=%zz",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop?tls=" + secret,
		"sqlite:none.db?_auth&_auth_user=app&_auth_pass=" + secret,
		"sqlite:none.db?_pragma=key('" + secret + "')",
		"file:none.db?_crypto_key=" + secret,
	} {
		for _, args := range [][]string{
			{"workers", "--dsn", dsn},
			{"workers", "release", "3", "--dsn", dsn},
			{"workers", dsn},
			{dsn},
			{"--dsn", dsn},
			{"help", dsn},
			{"decode", "--", "--dsn", dsn},
			{"workers", "--namespace", "--dsn", dsn},
			{"workers", "release", dsn, "--dsn", dsn},
			{"new", "-n", "--dsn=" + dsn}, // the value was forgotten
			{"partition", "plan", "t", "--key", "id", "--unit", "--dsn=" + dsn},
			{"decode", "--layout", "--dsn=" + dsn},
			{"decode", dsn},
			{"audit", "--table", "t", "--dsn", dsn},
			{"audit", "--table", "t", "--dsn", "sqlite:.", "--with", dsn},
			{"audit", "--table", dsn, "--dsn", dsn},
			{"new", "--worker", "1", "--state", dsn},
		} {
			r := do(t, "", args...)
			if r.code == exitOK || r.out != "" || r.err == "" {
				t.Errorf("%q: %+v", args, r)
			}
			if strings.Contains(r.err, secret) || strings.Contains(r.err, "Geheim-17") || strings.Contains(r.err, "im-17") {
				t.Errorf("%q: %s", args, r.err)
			}
		}
	}

	const plan = "partition plan t --unit month --key=id"
	do(t, "", strings.Fields(plan)...).fails(t, exitUsage, "no database") // -key=id is no secret
	// A password with a space, which the shell has split, and which ends up as a setting.
	for _, dsn := range []string{"postgres://app:a im17@127.0.0.1:1/shop", "app:a im17@tcp(127.0.0.1:1)/shop"} {
		do(t, "", append([]string{"workers", "--dsn"}, strings.Fields(dsn)...)...).fails(t, exitUsage, errSecret.Error())
	}
	postgres, err := pgx.ParseConfig(testdb.Postgres(t).DSN)
	must(t, err)
	for setting, code := range map[string]string{"im17=b": "42704", "datestyle=im17": "22023"} {
		dsn := fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable password=a %s",
			postgres.Host, postgres.Port, postgres.User, postgres.Database, setting)
		for _, command := range []string{"workers", plan} {
			r := do(t, "", append(strings.Fields(command), "--dsn", dsn)...)
			if r.fails(t, exitFailed, "(SQLSTATE "+code+")"); strings.Contains(r.err, "im17") {
				t.Errorf("%s with %s: %s", command, setting, r.err)
			}
		}
	}
}

func TestNoDatabaseIsCreated(t *testing.T) {
	path := t.TempDir() + "/none.db"
	do(t, "", "workers", "--dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	do(t, "", "new", "--dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	const forms = "unknown form of a DSN. The DSN is one of\n  postgres://user:password@host"
	for _, dsn := range []string{path, "mysql://root@host/db"} {
		do(t, "", "workers", "--dsn", dsn).fails(t, exitFailed, forms)
		do(t, "", "workers", "--dsn", dsn).fails(t, exitFailed, `For example: --dsn "app:secret@tcp(127.0.0.1:3306)/shop"`)
	}
}

// TestTheTablesOfLeasesAreThoseOfTheStore creates the tables with what is printed.
func TestTheTablesOfLeasesAreThoseOfTheStore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		r := do(t, "", "sql", "leases", "--dialect", strings.Replace(s.Name, "mariadb", "mysql", 1))
		if !strings.HasSuffix(r.out, ";\n") || r.code != exitOK {
			t.Fatalf("%+v", r)
		}
		for statement := range strings.SplitSeq(strings.TrimSuffix(r.out, ";\n"), ";") { // MySQL's driver refuses two
			s.exec(t, statement)
		}
		open(t, s)
		s.do(t, "workers").says(t, exitOK, "default: 1 held, 0 free")
	})
}

// TestTheScriptOfFunctionsRuns installs what is printed, and removes it.
func TestTheScriptOfFunctionsRuns(t *testing.T) {
	target := testdb.Postgres(t)
	db := target.Open(t)
	exec := func(args ...string) {
		t.Helper()
		r := do(t, "", append([]string{"sql", "functions", "--dialect", "postgres", "--schema", schemaOf(t, db)}, args...)...)
		if _, err := db.ExecContext(t.Context(), r.out); err != nil || r.code != exitOK {
			t.Fatalf("%q: %v, %+v", args, err, r)
		}
	}

	exec("--worker", "1023", "--namespace", lease.DefaultNamespace)
	var id string
	must(t, db.QueryRowContext(t.Context(), "SELECT snowflake_next()::text").Scan(&id))
	parsed, err := parseID(id, "decimal")
	if worker := parsed >> 12 & 1023; err != nil || worker != 1023 {
		t.Errorf("%s has worker %d, %v", id, worker, err)
	}

	exec("--worker", "1023", "--drop")
	if err := db.QueryRowContext(t.Context(), "SELECT snowflake_next()::text").Scan(&id); err == nil {
		t.Error("snowflake_next was not dropped")
	}

	do(t, "", "sql", "functions", "--dialect", "postgres", "--name", "orders").says(t, exitOK, `"public".orders_time(`)
	for _, command := range []string{"sql functions", "new"} {
		if r := do(t, "", append(strings.Fields(command), "--help")...); strings.Contains(r.out, "(default -1)") {
			t.Errorf("%s: %+v", command, r)
		}
	}

	do(t, "", "sql", "functions", "--dialect", "mariadb").says(t, exitOK, "DELIMITER", "snowflake_time")
}

// schemaOf returns the schema of the test, so that the server's others stay as they are.
func schemaOf(t *testing.T, db *sql.DB) (schema string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil || schema == "public" {
		t.Fatal(schema, err)
	}
	return schema
}

// Whoever may only create objects in a schema of the search_path runs nothing as the person who uses the command.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		execSQL(t, victim.Safe, `CREATE TABLE orders (id bigint PRIMARY KEY, at timestamptz);
INSERT INTO orders VALUES (362387865600000, '2025-01-02 00:00:00Z'); CREATE TABLE events (id bigint PRIMARY KEY)`)
		table := do(t, "", "sql", "leases", "--dialect", "postgres")
		execSQL(t, victim.Open(t), table.out)
		opened, err := sqllease.Open(t.Context(), victim.Safe, sqldb.Postgres)
		if err == nil {
			err = opened.Close(t.Context())
		}

		must(t, err)
		for _, args := range [][]string{
			{"new", "--dsn", victim.DSN},
			{"workers", "--dsn", victim.DSN},
			{"workers", "--dsn", victim.DSN, "--json"},
			{"audit", "--dsn", victim.DSN, "--table", "orders", "--by", "at", "--layout", "default"},
			{"partition", "adopt", "--dsn", victim.DSN, "--unit", "day", "events"},
			{"partition", "plan", "--dsn", victim.DSN, "--unit", "day", "events"},
			{"partition", "maintain", "--dsn", victim.DSN, "--unit", "day", "events"},
		} {
			do(t, "", args...).says(t, exitOK)
		}
	})
}

// TestATableIsAdoptedAndMaintained does what cron does, and what a person does before.
func TestATableIsAdoptedAndMaintained(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		do := func(command string) result {
			return s.do(t, "partition "+command+" --unit month --tz Europe/Berlin events")
		}

		if s.Name == "sqlite" {
			do("plan").fails(t, exitUsage, "has no partitions")
			return
		}

		db := s.pool
		s.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY)")
		do("plan").fails(t, exitFailed, `: plan `)
		if r := do("plan"); strings.Contains(r.err, "partition: ") || !strings.Contains(r.err, "is not partitioned: \"sqlflake partition adopt\" changes that\n") {
			t.Errorf("%+v", r)
		}

		if s.Driver == "mysql" {
			r := do("adopt")
			_, statement, _ := strings.Cut(r.err, "meanwhile: ")
			if _, err := db.ExecContext(t.Context(), statement); err != nil || r.code != exitFailed {
				t.Fatalf("%+v, %v", r, err)
			}
		} else {
			do("adopt --dry-run --sql").says(t, exitOK, "PARTITION BY RANGE")
			do("adopt").says(t, exitOK, "partitions until 20", "times in Europe/Berlin")
		}

		var plan planValue
		r := do("plan --ahead 9 --json")
		if err := json.Unmarshal([]byte(r.out), &plan); err != nil || plan.Covered == nil || plan.Overdue == nil || len(plan.Problems) != 0 ||
			time.Until(plan.Now).Abs() > time.Hour || plan.Steps[0].Action != "create" || len(plan.Steps[0].SQL) == 0 {
			t.Fatalf("%+v, %v", r, err)
		}

		r = do("maintain --ahead 9 --json")
		var done planValue
		if err := json.Unmarshal([]byte(r.out), &done); err != nil || len(done.Steps) != len(plan.Steps) {
			t.Errorf("%d steps: %+v, %v", len(plan.Steps), r, err)
		}

		if r := do("maintain --ahead 9"); r.code != exitOK || !strings.Contains(r.out, ", 0 steps") || strings.Contains(r.out, "ACTION") {
			t.Errorf("%+v", r)
		}

		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		doAt(ctx, testNow, nil, "partition", "maintain", "--unit", "day", "events").fails(t, exitInterrupted, "interrupted")
		if s.Driver == "mysql" {
			return
		}

		// What needs a person is an error, and the steps are printed.
		name := "events_" + time.Date(plan.Now.Year(), plan.Now.Month()+11, 1, 0, 0, 0, 0, time.UTC).Format("2006_01")
		s.exec(t, "CREATE TABLE "+name+" (id int)")
		r = do("maintain --ahead 11 --start now --retain 1 --idle 3 --grace 2h --keep")
		if r.code != exitFailed || !strings.Contains(r.out, "create  events_20") || !strings.Contains(r.err, name+": a table of this name") {
			t.Errorf("%+v", r)
		}
	})
}

func TestWrongArgumentsOfPartitions(t *testing.T) {
	for args, want := range map[string]string{
		"--unit fortnight events":                 `"fortnight" for "--unit" flag: want day, week`,
		"events":                                  `required flag(s) "unit" not set`,
		"--unit month":                            "TABLE",
		"--unit month --json --sql events":        "if any flags in the group [json sql] are set",
		"--unit month --retain -1 events":         "WithRetain(-1)",
		"--unit month --idle -2 events":           "WithIdle(-2)",
		"--unit month --start long-ago events":    "is not a time",
		"--unit 1ns events":                       "whole seconds",
		"--unit month --layout sonyflake3 events": "--layout",
		"--unit month --tz Mars events":           "--tz",
		"--unit month --lock-timeout 2h events":   "WithLockTimeout(2h0m0s)",
		"--unit month --keep --retain 0 a.b.c":    "want table or schema.table",
	} {
		for _, command := range []string{"plan", "maintain", "adopt"} {
			all := append([]string{"partition", command, "--dsn", "postgres://app@127.0.0.1:1/shop"}, strings.Fields(args)...)
			do(t, "", all...).fails(t, exitUsage, want)
		}
	}

	do(t, "", "partition", "drop").fails(t, exitUsage, `unknown command "drop"`)
	do(t, "", "partition", "plan", "--unit", "day", "events").fails(t, exitUsage, "no database")
}
