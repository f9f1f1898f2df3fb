// Command storage answers which primary key a table should have: it measures the bytes of auto-increment, snowflake and
// UUID keys in tables and indexes, and the speed of inserting rows.
//
//	go run ./storage -scenario load
//
// loads SQLite tables with each kind of key and prints a table of figures, with the ratio of each to auto-increment.
// With -out it writes a report as Markdown.
// -h lists the flags; the README of this module explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

func main() { os.Exit(exit()) }

// exit runs the tool and returns its exit code.
func exit() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}

	if text := sentence(err); text != context.Canceled.Error() && text != fmt.Sprint(context.Cause(ctx)) {
		fmt.Fprintln(os.Stderr, "storage:", text)
	}

	if errors.Is(err, context.Canceled) {
		return 130
	}

	return 1
}

// sentence writes an error in one line, without duplicate lines.
func sentence(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	if s.report != "" {
		return s.render(out, progress)
	}
	return s.measure(ctx, out, progress)
}

// render writes the report of a folder or a file again, without measuring.
func (s settings) render(out, progress io.Writer) error {
	data, err := measure.ReadFolder(s.report)
	if err == nil && len(data.Records) == 0 {
		err = fmt.Errorf("%s contains no results", s.report)
	}
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}

	return s.write(report.New(data.Environment, data.Records), out, progress)
}

// write writes a report to standard output, and to the folders of -out or -report, and -docs.
func (s settings) write(r report.Report, out, progress io.Writer) error {
	if _, err := io.WriteString(out, r.Text()); err != nil {
		return err
	}

	folder := s.out
	if folder == "" && isFolder(s.report) { // -report may be a file
		folder = s.report
	}

	if folder != "" {
		if err := r.WriteFolder(folder); err != nil {
			return err
		}
		fmt.Fprintf(progress, "The report is %s.\n", filepath.Join(folder, "RESULTS.md"))
	}

	if s.docs != "" {
		if err := r.WriteDocs(s.docs); err != nil {
			return fmt.Errorf("-docs: %w", err)
		}
		fmt.Fprintf(progress, "bytes.svg and table.md are in %s.\n", s.docs)
	}

	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
