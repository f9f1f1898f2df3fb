//go:build !race

package advise

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write grid.json")

// TestGridIsWhatTheModelPredicts recomputes every seventh cell.
func TestGridIsWhatTheModelPredicts(t *testing.T) {
	cells, step := empty(), 7
	if *update {
		step = 1
	}
	var file bytes.Buffer
	for i := 0; i < len(cells); i += step {
		var err error
		cells[i], err = cells[i].predict(t.Context())
		must(t, err)
		line, err := json.Marshal(cells[i])
		must(t, err)
		file.WriteString(",\n" + string(line))
	}
	if *update {
		must(t, os.WriteFile("grid.json", []byte("["+file.String()[1:]+"\n]\n"), 0o644))
		return
	}
	grid := Grid()
	if len(grid) != len(cells) {
		t.Fatalf("%d cells, want %d: run go generate", len(grid), len(cells))
	}
	for i := 0; i < len(cells); i += step {
		if grid[i].Advice == "" {
			t.Errorf("%+v has no advice", grid[i])
		}
		if grid[i].Advice = ""; grid[i] != cells[i] {
			t.Errorf("the grid has %+v, the model %+v: run go generate", grid[i], cells[i])
		}
	}
}
