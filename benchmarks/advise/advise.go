// Package advise predicts how full the pages of a primary key's index will be, and recommends settings. It needs no
// database: package arrival simulates the order in which keys arrive, and models of the B-trees of PostgreSQL, InnoDB
// and SQLite take them. Tests of the storage comparison compare the models with the databases.
//
//	answer, err := advise.Ask(ctx, advise.Question{
//		Database: "postgres", Workers: 16, Rate: 10_000, Skew: 20 * time.Millisecond, Batch: 1, Row: 100,
//	})
//
// Grid has answers for usual cases, and Explanation says why a database behaves as it does.
package advise

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise/arrival"
)

// Question describes how keys are made and stored.
type Question struct {
	Database string        // one of Databases
	Workers  int           // generators that insert at the same time, such as processes; at least 1
	Rate     float64       // rows a second inserted into the table by all workers
	Skew     time.Duration // between the slowest and the fastest clock
	Lag      time.Duration // mean time between drawing a key and its INSERT
	Batch    int           // rows of a statement, whose keys are drawn together; at least 1
	Key      string        // a layout's name; empty: time/worker/sequence
	Row      int           // bytes of a row without its key, on databases that store rows in the key's tree; at least 1
	Fill     int           // fill factor of the index, on PostgreSQL, 10 to 100; 0: the default
	Table    string        // for statements
	quick    bool          // without other fill factors
	layout   arrival.Layout
}

// Answer is a prediction with recommendations.
type Answer struct {
	Database string  `json:"database"`
	Key      string  `json:"key"`
	Workers  int     `json:"workers"`
	Rate     float64 `json:"rate"`
	SkewRows float64 `json:"skew_rows"`  // rows that arrive within the skew
	LagRows  float64 `json:"lag_rows"`   // rows that arrive within the mean lag
	Batch    int     `json:"batch_rows"` // rows of a statement
	// Expected is the prediction for the current settings; nil for databases without a model.
	Expected *Figures `json:"expected,omitempty"`
	// Fills are the predictions for other fill factors, and Best is the recommended one; PostgreSQL only.
	Fills      []Figures `json:"fills,omitempty"`
	Best       *Figures  `json:"best,omitempty"`
	Statements []string  `json:"statements,omitempty"`
	Advice     []Advice  `json:"advice"`
}

// Figures are the predicted size of a tree.
type Figures struct {
	Fill    int     `json:"fill,omitempty"`
	Density float64 `json:"density"`         // of the leaves, 0 to 1
	Bytes   float64 `json:"bytes,omitempty"` // bytes of a key in an index without other columns
	// Ratio compares the bytes with those of the same rows with auto-increment keys and default settings.
	Ratio float64 `json:"ratio"`
}

// Advice is a recommendation and its source.
type Advice struct {
	Name    string `json:"name"`
	Warning bool   `json:"warning"`
	Text    string `json:"text"`
	Source  string `json:"source"` // a URL, or a measurement
}

// Databases returns the databases that Ask knows.
func Databases() []string {
	return []string{"postgres", "mariadb", "mysql", "sqlite", "cockroachdb", "tidb", "spanner", "yugabytedb"}
}

// aliases are other names for databases.
var aliases = map[string]string{"postgresql": "postgres", "cockroach": "cockroachdb", "yugabyte": "yugabytedb"}

const defaultFill = 90

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// check sets defaults and returns an error that names the wrong field.
func (q *Question) check() error {
	q.Database = strings.ToLower(q.Database)
	q.Database = cmp.Or(aliases[q.Database], q.Database)
	if !slices.Contains(Databases(), q.Database) {
		return fmt.Errorf("db: unknown database %q; there is advice for %s", q.Database, strings.Join(Databases(), ", "))
	}
	q.Key, q.Table = cmp.Or(q.Key, arrival.Layouts()[0].Name), cmp.Or(q.Table, "orders")
	var err error
	if q.layout, err = arrival.FindLayout(q.Key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	switch {
	case q.Batch < 1:
		return fmt.Errorf("batch: %d is out of range [1, %d]", q.Batch, arrival.MaxBatch)
	case q.Row < 1 || q.Row > maxRow:
		return fmt.Errorf("row: %d bytes is out of range [1, %d]", q.Row, maxRow)
	case q.Fill != 0 && q.Database != "postgres":
		return fmt.Errorf("fill: %s has no fill factor; PostgreSQL has", q.Database)
	case q.Fill != 0 && (q.Fill < 10 || q.Fill > 100):
		return fmt.Errorf("fill: %d is out of range [10, 100]", q.Fill)
	case !plainName.MatchString(q.Table):
		return fmt.Errorf("table: %q is not letters, digits and _ with at most one dot", q.Table)
	}
	return q.order(1).Check()
}

// maxRow is the length up to which databases store a row inside the tree.
const maxRow = 2000

// order returns the simulation of the question, with skew and lag multiplied by factor.
func (q *Question) order(factor float64) arrival.Order {
	o := arrival.Order{
		Rows: q.rows(), Rate: q.Rate, Workers: q.Workers, Batch: q.Batch, Cores: 2, Seed: 1,
		Skew: scale(q.Skew, factor), Lag: scale(q.Lag, factor),
	}
	if q.Database == "sqlite" { // one writer at a time
		o.Cores = 1
	}
	return o
}

// ordered reports whether each key arrives after all smaller ones.
func (q *Question) ordered() bool { return q.Workers == 1 && q.Lag == 0 }

// Ask answers a question in about a second, or earlier with an error if ctx ends. Its errors name the wrong field.
func Ask(ctx context.Context, q Question) (Answer, error) {
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	o := q.order(1)
	a := Answer{
		Database: q.Database, Key: q.Key, Workers: q.Workers, Rate: q.Rate, SkewRows: o.SkewRows(),
		LagRows: o.LagRows(), Batch: q.Batch,
	}
	if err := q.predict(ctx, &a); err != nil {
		return Answer{}, err
	}
	for _, r := range rules {
		if slices.Contains(r.databases, q.Database) && (r.when == nil || r.when(&q, &a)) {
			a.Advice = append(a.Advice, Advice{Name: r.name, Warning: r.warning, Text: q.replaced(r.text, &a), Source: r.source})
		}
	}
	warnings := map[bool]int{false: 1}
	slices.SortStableFunc(a.Advice, func(x, y Advice) int { return warnings[x.Warning] - warnings[y.Warning] })
	return a, nil
}
