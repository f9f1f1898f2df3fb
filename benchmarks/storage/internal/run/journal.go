package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/internal/filelock"
)

// journalName is the file in a report's folder with one line of JSON for each run.
const journalName = "results.jsonl"

// Journal keeps records in a file, so that an interrupted run can be resumed.
type Journal struct {
	file    *os.File
	records []measure.Record
	done    map[string]bool
}

// ErrInUse is returned by OpenJournal if another run writes to the folder.
var ErrInUse = errors.New("another run is writing to this folder")

// OpenJournal opens the journal of a folder, which it creates if needed. Until Close, or the end of the process, a
// second call for the folder returns ErrInUse.
func OpenJournal(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, journalName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(file); errors.Is(err, filelock.ErrHeld) { // other errors: a file system without locks
		return nil, errors.Join(fmt.Errorf("%s: %w; wait until it ends, or use another -out", dir, ErrInUse), file.Close())
	}
	records, size, err := load(path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Truncate(size); err != nil { // otherwise the next record would be appended to half a line
		return nil, errors.Join(err, file.Close())
	}
	j := &Journal{file: file, records: records, done: map[string]bool{}}
	for _, r := range records {
		j.done[r.ID()] = true
	}
	return j, nil
}

// Load returns the records of a folder. An incomplete last line, after a full disk or a kill, is left out.
func Load(dir string) ([]measure.Record, error) {
	records, _, err := load(filepath.Join(dir, journalName))
	return records, err
}

// load also returns the length of the file up to the end of its last complete line.
func load(path string) (records []measure.Record, size int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r measure.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, 0, fmt.Errorf("%s, line %d: %w", path, number, err)
		}
		records = append(records, r)
		size += int64(len(line))
	}
	return records, size, nil
}

// Done reports whether a run has a record.
func (j *Journal) Done(r measure.Record) bool { return j.done[r.ID()] }

// Add appends a record.
func (j *Journal) Add(r measure.Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("store a result: %w", err)
	}
	j.records = append(j.records, r)
	j.done[r.ID()] = true
	return nil
}

// Records returns all records in their order.
func (j *Journal) Records() []measure.Record { return j.records }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
