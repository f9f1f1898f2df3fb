package partition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

func newMySQLAdopter(t *testing.T, statements string) adopter {
	t.Helper()
	return adoptIn(t, testdb.MariaDB(t), statements)
}

func (a adopter) mysqlPartitions() []string {
	a.Helper()
	return a.texts(`SELECT CONCAT(PARTITION_NAME, ' ', TABLE_ROWS) FROM information_schema.PARTITIONS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'events' AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION`)
}

func TestAdoptRewritesOnMySQL(t *testing.T) {
	for _, withDefault := range []bool{false, true} {
		a := newMySQLAdopter(t, "CREATE TABLE events (id bigint NOT NULL, n int, PRIMARY KEY (id), UNIQUE (n, id), KEY (n)) COMMENT 'all';\n")
		today := a.today
		for n := -5; n <= 0; n++ {
			a.run(fmt.Sprintf("INSERT INTO events VALUES (%d, 1);\n", idAt(today.AddDate(0, 0, n))))
		}
		a.run("INSERT INTO events VALUES (5, 1), (-5, 1);\n")
		options := []partition.Option{partition.WithStart(today.AddDate(0, 0, -2))}
		if withDefault {
			a.run(fmt.Sprintf("INSERT INTO events VALUES (%d, 1);\n", idAt(today.AddDate(0, 1, 0))))
			if plan, err := a.newSet(partition.Day).PlanAdopt(t.Context(), a.DB); err != nil || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0].Error(), "after the last partition") {
				t.Errorf("without a default partition: %v, %v", plan, err)
			}
			options = append(options, partition.WithDefault())
		}
		a.run("ANALYZE TABLE events;\n")
		set := a.newSet(partition.Day, options...)
		plan, err := set.PlanAdopt(t.Context(), a.DB)
		if err != nil || len(plan.Problems) > 0 || len(plan.Steps) != 1 {
			t.Fatalf("plan %v, %v", plan, err)
		}
		if s := plan.Steps[0]; s.Action != "rewrite" || s.Rows < 8 || s.Bytes == 0 || !strings.Contains(s.Why, "blocks writers") {
			t.Errorf("plan %+v", s)
		}
		a.same(a.mysqlPartitions())
		steps, err := set.Adopt(t.Context(), a.DB)
		if err != nil || len(steps) != 1 {
			t.Fatalf("%v, %v", steps, err)
		}
		a.run("ANALYZE TABLE events;\n")
		var want []string
		want = append(want, "events_legacy 5")
		for n := -2; n <= 3; n++ {
			rows := 1
			if n > 0 {
				rows = 0
			}
			want = append(want, fmt.Sprintf("events_%s %d", today.AddDate(0, 0, n).Format("2006_01_02"), rows))
		}
		if withDefault {
			want = append(want, "events_default 1")
		}
		if got := a.mysqlPartitions(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("partitions %v, want %v", got, want)
		}
		if again := a.adopt(set); len(again) > 0 {
			t.Errorf("again: %v", again)
		}
		a.does(set)
	}
}

// After a bulk load, the statistics of MariaDB have the size of the empty table, and those of MySQL its rows for a day.
func TestPlanAdoptOfOldStatisticsOnMySQL(t *testing.T) {
	a := newMySQLAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY, body char(40) NOT NULL DEFAULT '');\n")
	if _, err := a.newSet(partition.Day).PlanAdopt(t.Context(), a.DB); err != nil {
		t.Fatal(err)
	}
	a.run("INSERT INTO events (id) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000) SELECT a.n * 1000 + b.n FROM n AS a, n AS b WHERE a.n <= 20;\n")
	plan, err := a.newSet(partition.Day, partition.WithRetain(9)).PlanAdopt(t.Context(), a.DB)
	if err != nil || len(plan.Steps) != 1 {
		t.Fatal(plan, err)
	}
	step := plan.Steps[0]
	dropped := "events_legacy: Maintain drops it as a whole, not before " + a.day(9).Format(time.DateOnly) + " 01:00"
	if step.Rows < 15_000 || step.Bytes < step.Rows*26 || !strings.Contains(step.Why, "at least ") || !strings.Contains(step.Why, dropped) {
		t.Errorf("%+v, want about 20,000 rows of at least 26 bytes, and %q", step, dropped)
	}
}

func TestAdoptRefusesOnMySQL(t *testing.T) {
	for name, test := range map[string]struct{ statements, want string }{
		"another primary key":  {"CREATE TABLE events (id bigint NOT NULL, n int PRIMARY KEY)", "PRIMARY"},
		"a unique index":       {"CREATE TABLE events (id bigint PRIMARY KEY, n int, UNIQUE one (n))", "one"},
		"a reference":          {"CREATE TABLE kinds (id bigint PRIMARY KEY);\nCREATE TABLE events (id bigint PRIMARY KEY, n bigint, CONSTRAINT fk FOREIGN KEY (n) REFERENCES kinds (id))", "fk"},
		"a reference to it":    {"CREATE TABLE events (id bigint PRIMARY KEY);\nCREATE TABLE others (n bigint, CONSTRAINT fk FOREIGN KEY (n) REFERENCES events (id))", "fk"},
		"a counter":            {"CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY)", "AUTO_INCREMENT"},
		"a search index":       {"CREATE TABLE events (id bigint PRIMARY KEY, t text, FULLTEXT words (t))", "words"},
		"a key that may be no": {"CREATE TABLE events (id bigint)", "NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			newMySQLAdopter(t, test.statements+";\n").refuses(test.want)
		})
	}
	for name, statement := range map[string]string{
		"none":          "SELECT 1",
		"a view":        "CREATE VIEW events AS SELECT 1 AS id",
		"a small key":   "CREATE TABLE events (id int PRIMARY KEY)",
		"another range": "CREATE TABLE events (id bigint, n bigint) PARTITION BY RANGE (n) (PARTITION p VALUES LESS THAN MAXVALUE)",
	} {
		t.Run(name, func(t *testing.T) {
			newMySQLAdopter(t, statement+";\n").rejects("")
		})
	}
}

// A table that is created with the options is one that Maintain accepts as it is.
func TestTableOptionsFitMaintain(t *testing.T) {
	for _, options := range [][]partition.Option{nil, {partition.WithDefault()}, {partition.WithStart(time.Now().AddDate(0, 0, -9)), partition.WithRetain(3)}} {
		a := newMySQLAdopter(t, "")
		set := a.newSet(partition.Day, options...)
		text, err := set.TableOptions()
		a.must(err)
		a.run("CREATE TABLE events (id bigint PRIMARY KEY) " + text + ";\n")
		a.does(set)
	}
	a := newAdopter(t, "")
	set := a.newSet(partition.Week, partition.WithKey("the Key"))
	text, err := set.TableOptions()
	a.must(err)
	a.run(`CREATE TABLE events ("the Key" bigint PRIMARY KEY) ` + text + ";\n")
	if steps, err := set.Maintain(t.Context(), a.DB); err != nil || len(steps) != 4 {
		t.Errorf("%s\nMaintain: %v, %v", text, steps, err)
	}
}
