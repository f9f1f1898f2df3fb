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

// write writes a report to standard output and to the folders of -out, -report and -docs.
func (s settings) write(r report.Report, out, progress io.Writer) error {
	var err error
	switch s.format {
	case "csv":
		err = r.WriteCSV(out)
	case "json":
		err = r.WriteJSON(out)
	default:
		err = r.WriteText(out)
	}
	if err != nil {
		return err
	}
	if dir := s.out + s.report; dir != "" { // at most one is set
		if err := r.WriteFolder(dir); err != nil {
			return err
		}
		fmt.Fprintf(progress, "The report is %s.\n", filepath.Join(dir, "index.html"))
	}
	if s.docs != "" {
		if err := r.WriteDocs(s.docs); err != nil {
			return fmt.Errorf("-docs: %w", err)
		}
		fmt.Fprintf(progress, "bytes.svg, rate.svg and table.md are in %s.\n", s.docs)
	}
	return nil
}

// render writes the report of a folder again, without measuring.
func (s settings) render(out, progress io.Writer) error {
	data, err := measure.ReadFolder(s.report)
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	if len(data.Records) == 0 {
		return fmt.Errorf("-report: %s contains no results", s.report)
	}
	baseline := s.baseline.Name
	if data.Environment.Baseline != "" && !s.baselineSet {
		baseline = data.Environment.Baseline
	}
	return s.write(report.New(data.Environment, data.Records, baseline), out, progress)
}

// leastWidth is used if a terminal reports no width or an impossible one.
const leastWidth = 40

// widthOf returns a function for the width of a terminal; nil for a pipe, a file, or a terminal that cannot redraw.
func widthOf(w io.Writer) func() int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			width = 80
		}
		return max(width, leastWidth)
	}
}
