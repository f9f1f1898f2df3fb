package measure

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/filelock"
)

// Journal keeps records in a file, so that an interrupted run can be resumed.
type Journal struct {
	file  *os.File
	data  Data
	done  map[string]bool
	known map[string]bool // metrics with a Unit line
}

// OpenJournal opens the journal of a folder, which it creates if needed. Until Close, or the end of the process, a
// second call for the folder returns filelock.ErrHeld.
func OpenJournal(dir string) (j *Journal, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, resultsName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := filelock.Lock(file); errors.Is(err, filelock.ErrHeld) { // other errors: a file system without locks
		return nil, fmt.Errorf("%s: another run is writing to this folder (%w); wait until it ends, or use another -out", dir, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = complete(text)
	data, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	j = &Journal{file: file, data: data, done: map[string]bool{}, known: map[string]bool{}}
	for _, r := range data.Records {
		j.done[r.ID()] = true
		for name := range r.Values {
			j.known[name] = true
		}
	}
	return j, file.Truncate(int64(len(text))) // otherwise the next record would be appended to half a line
}

// varying are the settings that may change when a run is resumed.
var varying = []string{"time", "command", "load", "commit"}

// Start writes where the figures come from. Results of other settings are not comparable with those of the file, so they
// are an error that names both values.
func (j *Journal) Start(env Environment) error {
	old := j.data.Environment.lines()
	var fresh []Setting
	var differ []string
	for _, s := range env.lines() {
		switch was := Get(old, s.Name); {
		case was == "":
			fresh = append(fresh, s)
		case was != s.Value && !slices.Contains(varying, s.Name):
			differ = append(differ, fmt.Sprintf("%s was %s and is %s", strings.TrimPrefix(s.Name, tool+"."), was, s.Value))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%s has results of other settings: %s; use another folder, or the same settings", j.file.Name(),
			strings.Join(differ, "; "))
	}
	var text strings.Builder
	for _, s := range fresh {
		j.data.Environment.set(s.Name, s.Value)
		fmt.Fprintf(&text, "%s: %s\n", s.Name, s.Value)
	}
	_, err := j.file.WriteString(text.String())
	return err
}

// Done reports whether a run has a record.
func (j *Journal) Done(r Record) bool { return j.done[r.ID()] }

// Add appends a record, with its values rounded as in the file. Values that are not numbers, such as 0/0, are left out.
func (j *Journal) Add(r Record) error {
	maps.DeleteFunc(r.Values, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	for name, value := range r.Values {
		r.Values[name], _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 7, 64), 64)
	}
	if err := r.write(j.file, j.known); err != nil {
		return fmt.Errorf("store a result: %w", err)
	}
	j.data.Records = append(j.data.Records, r)
	j.done[r.ID()] = true
	return nil
}

// AddNotes adds notes about an engine without duplicates.
func (j *Journal) AddNotes(engine string, notes ...string) error {
	for _, note := range j.data.Environment.AddNotes(engine, notes...) {
		if _, err := fmt.Fprintf(j.file, "# %s: %s\n", engine, note); err != nil {
			return err
		}
	}
	return nil
}

// Data returns all records in their order, and the environment.
func (j *Journal) Data() Data { return j.data }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
