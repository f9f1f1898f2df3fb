package measure

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

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

// ReadFolder reads the results of a folder, or a file that ends in .txt or .txt.gz. An incomplete last line, after a full
// disk or a kill, is left out.
func ReadFolder(dir string) (Data, error) {
	path := dir
	if info, err := os.Stat(dir); err != nil {
		return Data{}, err
	} else if info.IsDir() {
		path = filepath.Join(dir, resultsName)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && path != dir {
		text, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		return Data{}, err
	}
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(unpacked)
		}
		if err != nil {
			return Data{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	return parse(path, complete(text))
}

// complete cuts an incomplete last line.
func complete(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }

// parse reads complete lines.
func parse(path string, text []byte) (Data, error) {
	d := Data{Environment: Environment{Database: map[string][]Setting{}, Notes: map[string][]string{}}}
	var noted []Record
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		about, comment := strings.CutPrefix(name, "# ")
		switch r, err := recordOf(about); {
		case !ok || strings.HasPrefix(line, benchmark):
		case !comment:
			d.Environment.set(name, value)
		case err == nil:
			r.Note = value
			noted = append(noted, r)
		default:
			d.Environment.AddNotes(about, value)
		}
	}
	place := map[string]int{}
	in := benchfmt.NewReader(bytes.NewReader(text), path)
	for in.Scan() {
		switch line := in.Result().(type) {
		case *benchfmt.SyntaxError:
			return d, line
		case *benchfmt.Result:
			r, err := recordOf(benchmark + string(line.Name))
			if err != nil {
				file, number := line.Pos()
				return d, fmt.Errorf("%s:%d: %w", file, number, err)
			}
			for _, v := range line.Values {
				if v.OrigUnit != "" { // it was converted, as from ns to s
					v.Unit, v.Value = v.OrigUnit, v.OrigValue
				}
				r.Values[v.Unit] = v.Value
			}
			place[r.ID()] = len(d.Records)
			d.Records = append(d.Records, r)
		}
	}
	for _, r := range noted {
		if i, ok := place[r.ID()]; ok {
			d.Records[i].Note = r.Note
		} else { // a run without values
			d.Records = append(d.Records, r)
		}
	}
	return d, in.Err()
}

const benchmark = "Benchmark"

// nameOf returns the name of a run: BenchmarkLoad/db=sqlite/rows=1000/key=auto/beside=snowflake/round=1.
func nameOf(r Record) string {
	parts := []string{benchmark + strings.ToUpper(r.Scenario[:1]) + r.Scenario[1:], "db=" + r.Engine}
	for _, p := range r.Params {
		parts = append(parts, p.Name+"="+p.Value)
	}
	parts = append(parts, "key="+r.Kind)
	if r.Beside != "" {
		parts = append(parts, "beside="+r.Beside)
	}
	return strings.ReplaceAll(strings.Join(append(parts, "round="+strconv.Itoa(r.Round)), "/"), " ", "_")
}

// recordOf is the inverse of nameOf.
func recordOf(name string) (Record, error) {
	r := Record{Values: map[string]float64{}}
	first, rest, _ := strings.Cut(name, "/")
	first, ok := strings.CutPrefix(first, benchmark)
	if !ok || first == "" {
		return r, fmt.Errorf("%q is not the name of a run", name)
	}
	r.Scenario = strings.ToLower(first[:1]) + first[1:]
	for part := range strings.SplitSeq(rest, "/") {
		name, value, _ := strings.Cut(strings.ReplaceAll(part, "_", " "), "=")
		switch name {
		case "db":
			r.Engine = value
		case "key":
			r.Kind = value
		case "beside":
			r.Beside = value
		case "round":
			r.Round, _ = strconv.Atoi(value)
		default:
			r.Params = append(r.Params, Param{name, value})
		}
	}
	if r.Engine == "" || r.Kind == "" || r.Round < 1 {
		return r, fmt.Errorf("%q has no db, key or round", name)
	}
	return r, nil
}

// write writes a run: its note, the meanings of metrics that are new in the file, and its values.
func (r Record) write(out io.Writer, known map[string]bool) error {
	var text, line bytes.Buffer
	if r.Note != "" {
		fmt.Fprintf(&text, "# %s: %s\n", nameOf(r), oneLine(r.Note))
	}
	fmt.Fprintf(&line, "%s 1", nameOf(r))
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if m := Find(name); !known[name] {
			known[name] = true
			fmt.Fprintf(&text, "Unit %s better=%s\n", name, map[bool]string{true: "higher", false: "lower"}[m.More])
			if m.Exact {
				fmt.Fprintf(&text, "Unit %s assume=exact\n", name)
			}
		}
		fmt.Fprintf(&line, " %v %s", r.Values[name], name)
	}
	if len(r.Values) > 0 {
		fmt.Fprintf(&text, "%s\n", &line)
	}
	_, err := out.Write(text.Bytes())
	return err
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
