package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

// write writes a report to standard output, and to the folders of -out or -report, and -docs.
func (s settings) write(r report.Report, out, progress io.Writer) error {
	err := map[string]func(io.Writer) error{"csv": r.WriteCSV, "json": r.WriteJSON, "table": r.WriteText}[s.format](out)
	if err != nil {
		return err
	}
	folder := s.out
	if info, err := os.Stat(s.report); err == nil && info.IsDir() && folder == "" { // -report may be a file, or several
		folder = s.report
	}
	if folder != "" {
		if err := errors.Join(os.MkdirAll(folder, 0o755), r.WriteFolder(folder)); err != nil {
			return err
		}
		fmt.Fprintf(progress, "The report is %s.\n", filepath.Join(folder, "index.html"))
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

// render writes the report of one or more folders again, without measuring.
func (s settings) render(out, progress io.Writer) error {
	var list []measure.Data
	for _, path := range split(s.report) {
		one, err := read("report", path)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	data, err := measure.Merge(list...)
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	baseline := data.Environment.Baseline
	if baseline == "" || s.baselineSet {
		baseline = s.baseline.Name
	}
	return s.write(report.New(data.Environment, data.Records, baseline), out, progress)
}
