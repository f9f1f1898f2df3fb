package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

// write writes a report to standard output, and to the folders of -out or -report, and -docs.
func (s settings) write(r report.Report, out, progress io.Writer) error {
	err := map[string]func(io.Writer) error{"csv": r.WriteCSV, "json": r.WriteJSON, "table": r.WriteText}[s.format](out)
	if err != nil {
		return err
	}
	if info, err := os.Stat(s.out + s.report); err == nil && info.IsDir() { // at most one is set; -report may be a file
		if err := r.WriteFolder(s.out + s.report); err != nil {
			return err
		}
		fmt.Fprintf(progress, "The report is %s.\n", filepath.Join(s.out+s.report, "index.html"))
	}
	if s.docs != "" {
		if err := r.WriteDocs(s.docs); err != nil {
			return fmt.Errorf("-docs: %w", err)
		}
		fmt.Fprintf(progress, "bytes.svg, rate.svg and table.md are in %s.\n", s.docs)
	}
	return nil
}

// read reads the results of a folder or a file.
func read(flag, path string) (measure.Data, error) {
	data, err := measure.ReadFolder(path)
	if err == nil && len(data.Records) == 0 {
		err = fmt.Errorf("%s contains no results", path)
	}
	if err != nil {
		err = fmt.Errorf("-%s: %w", flag, err)
	}
	return data, err
}

// render writes the report of a folder again, without measuring.
func (s settings) render(out, progress io.Writer) error {
	data, err := read("report", s.report)
	if err != nil {
		return err
	}
	baseline := data.Environment.Baseline
	if baseline == "" || s.baselineSet {
		baseline = s.baseline.Name
	}
	return s.write(report.New(data.Environment, data.Records, baseline), out, progress)
}

// isTerminal reports whether w can redraw a line.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}
