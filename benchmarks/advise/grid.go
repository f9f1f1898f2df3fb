package advise

import (
	"context"
	"embed"
	"encoding/json"
	"math"
	"time"
)

//go:generate go test -run TestGrid -update .

// GridAssumptions says in one sentence what all cells have in common.
const GridAssumptions = "Predicted for snowflake keys that each worker draws with a generator of its own, clocks within 1 ms, " +
	"0.2 ms on average from the draw to the INSERT, rows of 100 bytes beside the key, and a server with two cores."

// Cell is the prediction for a usual case.
type Cell struct {
	Database string `json:"database"` // postgres, mariadb, sqlite
	Workers  int    `json:"workers"`  // processes, each with a generator
	Rate     int    `json:"rate"`     // rows a second of all workers
	Batch    int    `json:"batch"`    // rows a statement
	// Ratio compares the bytes of the key's index (PostgreSQL) or of the table (MariaDB, SQLite) with those of
	// auto-increment keys.
	Ratio float64 `json:"ratio"`
	// Advice is a sentence.
	Advice string `json:"-"`
}

var (
	//go:embed grid.json
	gridFile []byte
	//go:embed explain
	explanations embed.FS
)

// Explanation returns a text in Markdown, paragraphs and a table, that says why the sizes of tables on a database are as
// they are: "mariadb" or "sqlite". It is empty for others.
func Explanation(database string) string {
	text, _ := explanations.ReadFile("explain/" + database + ".md")
	return string(text)
}

// Grid returns the predictions for three databases with 1 to 16 workers, 100 to 100,000 rows a second and 1 to 1,000
// rows a statement. The full speed of a load on two cores is higher: 250,000 to 350,000 rows a second.
func Grid() []Cell {
	var cells []Cell
	if err := json.Unmarshal(gridFile, &cells); err != nil {
		panic("advise: grid.json: " + err.Error()) // it is part of the program
	}
	for i := range cells {
		cells[i].Advice = cells[i].advice()
	}
	return cells
}

// empty returns all cells without their predictions.
func empty() (cells []Cell) {
	for _, database := range []string{"postgres", "mariadb", "sqlite"} {
		for _, workers := range []int{1, 2, 4, 8, 16} {
			for _, rate := range []int{100, 1000, 10_000, 100_000} {
				for _, batch := range []int{1, 100, 1000} {
					cells = append(cells, Cell{Database: database, Workers: workers, Rate: rate, Batch: batch})
				}
			}
		}
	}
	return cells
}

// predict returns the cell with its prediction.
func (c Cell) predict(ctx context.Context) (Cell, error) {
	a, err := Ask(ctx, Question{
		Database: c.Database, Workers: c.Workers, Rate: float64(c.Rate), Batch: c.Batch, Row: 100,
		Skew: time.Millisecond, Lag: time.Millisecond / 5, quick: true,
	})
	if err == nil {
		c.Ratio = math.Round(100*a.Expected.Ratio) / 100
	}
	return c, err
}

func (c Cell) advice() string {
	switch {
	case c.Database == "sqlite":
		return "Declare the key as INTEGER PRIMARY KEY."
	case c.Ratio < crowded:
		return "Nothing to do."
	case c.Database == "postgres":
		return "Load with one process, or run REINDEX INDEX CONCURRENTLY after the load."
	case c.Batch == 1:
		return "Write 1,000 rows a statement, or from fewer processes; OPTIMIZE TABLE fills the pages again."
	default:
		return "Load with one process, or run OPTIMIZE TABLE after the load."
	}
}
