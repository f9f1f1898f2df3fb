package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

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
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE events (id bigint PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
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
		} else if r := do("adopt --dry-run --sql"); r.code != exitOK || !strings.Contains(r.out, "PARTITION BY RANGE") {
			t.Errorf("%+v", r)
		} else if r := do("adopt"); r.code != exitOK || !strings.Contains(r.out, "partitions until 20") || !strings.Contains(r.out, "times in Europe/Berlin") {
			t.Errorf("%+v", r)
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
		var out, errs strings.Builder
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		args := []string{"partition", "maintain", "--unit", "day", "events"}
		if code := run(ctx, testCommand(nil, &out, &errs), args); code != exitInterrupted || out.Len() > 0 {
			t.Errorf("interrupted: %d, %s%s", code, &out, &errs)
		}
		if s.Driver == "mysql" {
			return
		}
		// What needs a person is an error, and the steps are printed.
		name := "events_" + time.Date(plan.Now.Year(), plan.Now.Month()+11, 1, 0, 0, 0, 0, time.UTC).Format("2006_01")
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+" (id int)"); err != nil {
			t.Fatal(err)
		}
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
		"--unit month --start long-ago events":    "is neither a time",
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
