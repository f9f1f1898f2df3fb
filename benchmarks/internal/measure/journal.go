package measure

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Journal keeps the records of a run of the tool in a file as they come, so an interrupted run can be read.
type Journal struct{ *os.File }

// CreateJournal creates the journal of a folder, and the folder if needed. It returns an error that wraps fs.ErrExist
// if the folder has one.
func CreateJournal(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}

	file, err := os.OpenFile(filepath.Join(dir, resultsName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s has the results of another run (%w); use another folder", dir, fs.ErrExist)
	}
	if err != nil {
		return nil, err
	}

	return &Journal{file}, nil
}

// Start writes where the figures come from, and what their units mean.
func (j *Journal) Start(settings []Setting) error {
	var text strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&text, "%s: %s\n", s.Name, s.Value)
	}
	for _, m := range metrics {
		fmt.Fprintf(&text, "Unit %[1]s better=%[2]s\nUnit %[1]s assume=%[3]s\n", m.Name,
			map[bool]string{true: "higher", false: "lower"}[m.More],
			map[bool]string{true: "exact", false: "nothing"}[m.Exact])
	}

	_, err := j.WriteString(text.String())
	return err
}

// Add appends a run: its values and its note. The note comes last: a full disk may cut the text anywhere, and a note
// without values says that there are none.
func (j *Journal) Add(r Record) error {
	maps.DeleteFunc(r.Values, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	var text strings.Builder
	if len(r.Values) > 0 {
		text.WriteString(r.ID() + " 1")
		for _, name := range slices.Sorted(maps.Keys(r.Values)) {
			fmt.Fprintf(&text, " %.7g %s", r.Values[name], name)
		}
		text.WriteString("\n")
	}
	if r.Note != "" {
		fmt.Fprintf(&text, "# %s: %s\n", r.ID(), oneLine(r.Note))
	}

	_, err := j.WriteString(text.String())
	return err
}

// AddNotes adds notes about an engine.
func (j *Journal) AddNotes(engine string, notes ...string) error {
	for _, note := range notes {
		if _, err := fmt.Fprintf(j, "# %s: %s\n", engine, oneLine(note)); err != nil {
			return err
		}
	}
	return nil
}

// resultsName is the file of a report's folder with all runs, in the format of Go's benchmarks, which benchstat reads.
//
//	postgres.version: PostgreSQL 15.20
//	Unit rate better=higher
//	BenchmarkLoad/db=postgres/rows=200000/batch=1/key=snowflake/round=3 1 14900 rate 22.5 bytes_primary
//	# BenchmarkLoad/db=postgres/rows=200000/batch=1/key=snowflake/round=3: a note about this run
//	# postgres: a note about this database
//
// Notes are comments, because benchstat would compare "note: ..." lines as settings.
const resultsName = "results.txt"

// Data are the contents of a folder.
type Data struct {
	Environment Environment
	Records     []Record
}

// ReadFolder reads the results of a folder, or a file of results, which may be compressed by gzip. An incomplete last
// line, after a full disk or a kill, is left out.
func ReadFolder(path string) (Data, error) {
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = filepath.Join(path, resultsName)
	}

	text, err := os.ReadFile(file)
	if err == nil {
		text, err = unpack(text)
	}
	if err != nil {
		return Data{}, fmt.Errorf("%s: %w", path, err)
	}

	return parse(file, complete(text))
}

// unpack decompresses the text of a gzip file, and returns any other as it is.
func unpack(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		return text, nil
	}

	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// complete cuts an incomplete last line.
func complete(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }

// parse reads complete lines.
func parse(path string, text []byte) (Data, error) {
	d, place, number := Data{}, map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		about, comment := strings.CutPrefix(name, "# ")
		switch id, values, _ := strings.Cut(about, " "); {
		case strings.HasPrefix(id, benchmark):
			r, err := recordOf(id)
			i, known := place[id]
			if !known {
				i = len(d.Records)
				place[id], d.Records = i, append(d.Records, r)
			}

			if err = errors.Join(err, d.Records[i].read(values)); err != nil {
				return d, fmt.Errorf("%s:%d: %w", path, number, err)
			}

			d.Records[i].Note += value
		case value == "", strings.HasPrefix(name, "tool."): // of older files: the flags, which the command has
		case comment:
			d.Environment.addNote(value)
		default:
			d.Environment.set(name, value)
		}
	}

	return d, nil
}

const benchmark = "Benchmark"

// ID identifies a run, for example "BenchmarkLoad/db=sqlite/rows=1000/key=snowflake/round=1".
func (r Record) ID() string {
	parts := []string{benchmark + strings.ToUpper(r.Scenario[:1]) + r.Scenario[1:]}
	run := P("key", r.Kind, "beside", r.Beside, "round", r.Round)
	for _, p := range slices.Concat(P("db", r.Engine), r.Params, run) {
		if p.Value != "" {
			parts = append(parts, p.Name+"="+p.Value)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "/"), " ", "_")
}

// recordOf is the inverse of ID.
func recordOf(id string) (Record, error) {
	scenario, rest, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(id, benchmark), "_", " "), "/")
	r, round := Record{Scenario: strings.ToLower(scenario), Values: map[string]float64{}}, ""
	fields := map[string]*string{"db": &r.Engine, "key": &r.Kind, "beside": &r.Beside, "round": &round}
	for part := range strings.SplitSeq(rest, "/") {
		name, value, _ := strings.Cut(part, "=")
		if field := fields[name]; field != nil {
			*field = value
		} else {
			r.Params = append(r.Params, Setting{name, value})
		}
	}

	r.Round, _ = strconv.Atoi(round)
	complete := scenario != "" && r.Kind != "" && r.Round >= 1
	if !complete {
		return r, fmt.Errorf("%q has no scenario, key or round", id)
	}
	return r, nil
}

// read sets the values of a line, "1 14900 rate 22.5 bytes_primary".
func (r Record) read(line string) error {
	if line != "" && len(r.Values) > 0 {
		return errors.New("this run is there twice: the file has two measurements")
	}

	fields := strings.Fields(line)
	for pair := range slices.Chunk(fields[min(1, len(fields)):], 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) < 2 {
			return fmt.Errorf("%q is not a value and its metric", pair)
		}
		r.Values[pair[1]] = value
	}

	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
