//go:build !race

package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise/arrival"
)

const ms = time.Millisecond

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// usual returns a question with usual values.
func usual(database string) Question {
	return Question{Database: database, Workers: 4, Rate: 1000, Skew: ms, Lag: ms, Batch: 1, Row: 100}
}

func ask(t *testing.T, q Question) Answer {
	t.Helper()
	a, err := Ask(t.Context(), q)
	must(t, err)
	return a
}

func TestWarningsComeWhenTheyApply(t *testing.T) {
	with := func(database string, change func(*Question)) Question {
		q := usual(database)
		change(&q)
		return q
	}
	ordered := func(q *Question) { q.Workers, q.Skew, q.Lag = 1, 0, 0 }
	// With 16 workers fillfactor 90 holds 200 rows of skew and 90 of mean lag.
	limit := func(change func(*Question)) Question {
		q := Question{Database: "postgres", Workers: 16, Rate: 10_000, Batch: 1, Row: 100}
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		q         Question
		want      []string // warnings, in any order
		also, not string   // names of other advice
	}{
		"usual":            {q: usual("postgres"), also: "fill-100"},
		"postgresql":       {q: usual("PostgreSQL")},
		"full pages":       {q: with("postgres", func(q *Question) { q.Fill = 100 }), want: []string{"fill-100", "skew", "lag"}},
		"in order":         {q: with("postgres", ordered), also: "in-order", not: "fill-100"},
		"skew":             {q: with("postgres", func(q *Question) { q.Skew = time.Second }), want: []string{"skew"}},
		"lower fill":       {q: with("postgres", func(q *Question) { q.Skew, q.Fill = 300*ms, 80 }), not: "skew"},
		"one clock":        {q: with("postgres", func(q *Question) { q.Workers, q.Skew = 1, time.Second })},
		"lag":              {q: with("postgres", func(q *Question) { q.Lag = time.Second }), want: []string{"lag"}},
		"batches":          {q: with("postgres", func(q *Question) { q.Batch, q.Rate = 100, 100_000; q.Skew, q.Lag = 0, 0 }), want: []string{"batches"}},
		"slow batches":     {q: with("postgres", func(q *Question) { q.Batch = 100 }), not: "batches"},
		"one loader":       {q: with("postgres", func(q *Question) { q.Batch, q.Workers = 1000, 1 })},
		"worker first":     {q: with("postgres", func(q *Question) { q.Key = firstLayout }), want: []string{"worker-first"}},
		"fast":             {q: with("postgres", func(q *Question) { q.Rate, q.Skew, q.Lag, q.Workers = 300_000, 0, 0, 16 }), also: "sequence-first"},
		"uuid":             {q: with("postgres", func(q *Question) { q.Key = "uuidv7" }), also: "uuidv7", not: "auto-increment"},
		"mariadb":          {q: usual("mariadb"), want: []string{"innodb-workers", "innodb-lag"}, also: "auto-increment", not: "fill-100"},
		"mariadb, one":     {q: with("mariadb", ordered)},
		"mariadb, load":    {q: with("mariadb", func(q *Question) { q.Batch, q.Rate = 100, 100_000 }), want: []string{"innodb-batches"}},
		"mariadb, first":   {q: with("mariadb", func(q *Question) { q.Key, q.Lag = firstLayout, 0 }), want: []string{"worker-first"}},
		"mysql":            {q: with("mysql", ordered), also: "mysql"},
		"sqlite":           {q: usual("sqlite"), want: []string{"sqlite-type"}, also: "sqlite-varint"},
		"sqlite in order":  {q: with("sqlite", ordered), want: []string{"sqlite-type"}, not: "sqlite-order"},
		"cockroachdb":      {q: usual("cockroachdb"), want: []string{"range-cockroachdb"}, not: "auto-increment"},
		"tidb":             {q: usual("tidb"), want: []string{"range-tidb"}},
		"spanner":          {q: usual("spanner"), want: []string{"range-spanner"}},
		"yugabyte":         {q: usual("yugabyte"), want: []string{"range-yugabytedb"}},
		"190 rows of skew": {q: limit(func(q *Question) { q.Skew = 19 * ms })},
		"210 rows of skew": {q: limit(func(q *Question) { q.Skew = 21 * ms }), want: []string{"skew"}},
		"80 rows of lag":   {q: limit(func(q *Question) { q.Lag = 8 * ms })},
		"100 rows of lag":  {q: limit(func(q *Question) { q.Lag = 10 * ms }), want: []string{"lag"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, c.q)
			var names, warnings []string
			for _, advice := range a.Advice {
				names = append(names, advice.Name)
				if advice.Warning {
					warnings = append(warnings, advice.Name)
				}
				if advice.Text == "" || advice.Source == "" {
					t.Errorf("%+v has no text or no source", advice)
				}
			}
			for _, advice := range a.Advice { // no advice that the answer does not have
				if strings.Contains(advice.Text, "fill factor above") && a.Best.Fill == a.Expected.Fill {
					t.Errorf("%s: %s, but there is none to set", advice.Name, advice.Text)
				}
			}
			slices.Sort(warnings)
			slices.Sort(c.want)
			if !slices.Equal(warnings, c.want) {
				t.Errorf("warnings %v, want %v", warnings, c.want)
			}
			if c.also != "" && !slices.Contains(names, c.also) || c.not != "" && slices.Contains(names, c.not) {
				t.Errorf("advice %v, want %q and not %q", names, c.also, c.not)
			}
		})
	}
}

// TestConcurrentStatementsTakeWhatWasMeasured compares predictions with the least and the largest ratio of real clients
// at full speed: go run ./storage -db postgres,mariadb -scenario clients -clients 4,8 -batch 10,100,1000 -rows 200000,
// five times, on 2 cores. The rates are those that the clients reached.
func TestConcurrentStatementsTakeWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		database       string
		workers, batch int
		rate           float64
		least, most    float64
	}{
		{"postgres", 4, 10, 80_000, 0.99, 1.00},
		{"postgres", 8, 10, 80_000, 0.99, 1.09},
		{"postgres", 4, 100, 1e6, 1.17, 1.33},
		{"postgres", 8, 100, 1e6, 1.29, 1.36},
		{"postgres", 4, 1000, 1e6, 1.29, 1.37},
		{"postgres", 8, 1000, 1e6, 1.41, 1.48},
		{"mariadb", 4, 1, 3000, 1.06, 1.14},
		{"mariadb", 4, 10, 40_000, 1.81, 2.05},
		{"mariadb", 8, 10, 40_000, 1.98, 2.21},
		{"mariadb", 4, 100, 150_000, 1.43, 1.69},
		{"mariadb", 8, 100, 150_000, 1.63, 1.72},
		{"mariadb", 4, 1000, 200_000, 1.11, 1.15},
		{"mariadb", 8, 1000, 200_000, 1.11, 1.17},
	} {
		a := ask(t, Question{Database: c.database, Workers: c.workers, Rate: c.rate, Batch: c.batch, Row: 39, Lag: ms / 5, quick: true})
		if r := a.Expected.Ratio; r < 0.9*c.least || r > 1.1*c.most {
			t.Errorf("%s, %d workers, %d rows a statement: %.2f, measured %.2f to %.2f", c.database, c.workers, c.batch, r,
				c.least, c.most)
		} else {
			t.Logf("%+v %.2f", c, r)
		}
	}
}

func TestFillFactorToSet(t *testing.T) {
	base := Question{Database: "postgres", Workers: 16, Rate: 10_000, Batch: 1, Row: 100}
	for name, c := range map[string]struct {
		change    func(*Question)
		least, to int // range of good fill factors
	}{
		"in order":        {func(q *Question) { q.Workers = 1 }, 100, 100},
		"clocks agree":    {func(*Question) {}, 90, 90},
		"skew of 100":     {func(q *Question) { q.Skew = 10 * ms }, 90, 90},
		"skew of 400":     {func(q *Question) { q.Skew = 40 * ms }, 70, 80},
		"lag of 150":      {func(q *Question) { q.Lag = 15 * ms }, 70, 85},
		"nothing helps":   {func(q *Question) { q.Workers, q.Batch, q.Rate = 4, 1000, 1e6 }, 90, 90},
		"worker on top":   {func(q *Question) { q.Key = firstLayout }, 90, 90},
		"it is set to 70": {func(q *Question) { q.Fill = 70 }, 90, 90},
	} {
		t.Run(name, func(t *testing.T) {
			q := base
			c.change(&q)
			a := ask(t, q)
			if a.Best.Fill < c.least || a.Best.Fill > c.to {
				t.Errorf("fillfactor %d, want %d to %d: %+v", a.Best.Fill, c.least, c.to, a.Fills)
			}
			if (a.Best.Fill == a.Expected.Fill) != (len(a.Statements) == 0) {
				t.Errorf("fillfactor %d, now %d, statements %q", a.Best.Fill, a.Expected.Fill, a.Statements)
			}
		})
	}
}

func TestStatements(t *testing.T) {
	q := Question{Database: "postgres", Workers: 1, Rate: 10, Batch: 1, Row: 1, Table: "app.Orders", Key: "uuidv7"}
	got := strings.Join(ask(t, q).Statements, "\n")
	for _, want := range []string{
		`CREATE TABLE "app"."Orders" (id uuid PRIMARY KEY WITH (fillfactor = 100), ...);`,
		`ALTER INDEX "app"."Orders_pkey" SET (fillfactor = 100);`,
		`REINDEX INDEX CONCURRENTLY "app"."Orders_pkey";`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nis not in\n%s", want, got)
		}
	}
}

func TestAskNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*Question){
		"db: unknown database \"oracle\"": func(q *Question) { q.Database = "oracle" },
		"db: unknown database \"\"":       func(q *Question) { q.Database = "" },
		"workers: 0":                      func(q *Question) { q.Workers = 0 },
		"rate: -5":                        func(q *Question) { q.Rate = -5 },
		"rate: NaN":                       func(q *Question) { q.Rate = math.NaN() },
		"rate: +Inf":                      func(q *Question) { q.Rate = math.Inf(1) },
		"skew: -1s":                       func(q *Question) { q.Skew = -time.Second },
		"lag: -1s":                        func(q *Question) { q.Lag = -time.Second },
		"batch: 0":                        func(q *Question) { q.Batch = 0 },
		"batch: 1000001":                  func(q *Question) { q.Batch = 1_000_001 },
		"row: 0":                          func(q *Question) { q.Row = 0 },
		"row: 2001":                       func(q *Question) { q.Row = 2001 },
		"key: unknown layout":             func(q *Question) { q.Key = "uuidv4" },
		"fill: 9 is out of range":         func(q *Question) { q.Fill = 9 },
		"fill: 101 is out of range":       func(q *Question) { q.Fill = 101 },
		"fill: sqlite has no fill factor": func(q *Question) { q.Database, q.Fill = "sqlite", 90 },
		"table: ":                         func(q *Question) { q.Table = "a; DROP TABLE b" },
	} {
		q := usual("postgres")
		change(&q)
		if _, err := Ask(t.Context(), q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
}

// TestAskTakesTheExtremes: the extreme valid values give figures quickly.
func TestAskTakesTheExtremes(t *testing.T) {
	for _, database := range []string{"postgres", "mariadb", "sqlite"} {
		for _, q := range []Question{
			{Workers: arrival.MaxWorkers, Rate: 4e9, Skew: 24 * time.Hour, Lag: 24 * time.Hour, Batch: 1, Row: maxRow},
			{Workers: arrival.MaxWorkers, Rate: 1e6, Batch: arrival.MaxBatch, Row: 1},
			{Workers: 1, Rate: 1e-6, Skew: 24 * time.Hour, Lag: 24 * time.Hour, Batch: 1, Row: 1},
		} {
			q.Database = database
			a := ask(t, q)
			if f := a.Expected; !(f.Density > 0.2 && f.Density <= 1 && f.Ratio > 0.5 && f.Ratio < 6) {
				t.Errorf("%+v: %+v", q, *f)
			}
		}
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ask(ctx, usual("postgres")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestAnswerAsTextAndJSON(t *testing.T) {
	q := usual("postgres")
	q.Rate, q.Skew, q.Workers = 10_000, 40*ms, 16
	a := ask(t, q)
	var text bytes.Buffer
	must(t, a.WriteText(&text))
	for _, want := range []string{
		"PostgreSQL, time/worker/sequence keys: 16 workers at 10000 rows/s, clocks apart by 400 rows, a mean lag of 10 rows",
		"Expect  pages of the key's index", "(fillfactor = 90)", "Set     fillfactor = ", "ALTER INDEX \"orders_pkey\"", "Warning: " +
			"Clocks that are 40ms apart",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	for line := range strings.Lines(text.String()) {
		if len(line) > 125 && !strings.Contains(line, ";  --") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	data, err := json.Marshal(a)
	must(t, err)
	var again Answer
	if err := json.Unmarshal(data, &again); err != nil || *again.Best != *a.Best || len(again.Advice) != len(a.Advice) {
		t.Errorf("%s\n%v", data, err)
	}
}
