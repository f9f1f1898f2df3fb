package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

const compareUsage = `storage -compare prints what differs between two reports beyond noise: of two machines, two versions of a database, or
two versions of this library. A speed differs if both have 6 rounds, the Mann-Whitney test gives p < 0.01, and the medians
are 2 % or more apart; a size if it is 2 % or more apart. Each report is a folder of -out, or a .txt or .txt.gz file.

	go run ./storage -compare old new
	go run golang.org/x/perf/cmd/benchstat -table goos -ignore .config,/round,/beside old/results.txt new/results.txt

`

// withoutCompare returns the two reports after -compare and the other flags; ok reports whether -compare is among them.
func withoutCompare(args []string) (reports, rest []string, ok bool) {
	at := slices.IndexFunc(args, func(arg string) bool { return arg == "-compare" || arg == "--compare" })
	if at < 0 {
		return nil, args, false
	}
	end := at + 1
	for end < len(args) && end < at+3 && args[end] != "" && args[end][0] != '-' {
		end++
	}
	return args[at+1 : end], slices.Concat(args[:at], args[end:]), true
}

// compare parses the flags of -compare and prints the differences.
func compare(reports, args []string, out, help io.Writer) error {
	flags := flag.NewFlagSet("storage -compare", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	all := flags.Bool("all", false, "also print what does not differ")
	format := flags.String("format", formats[0], "table, csv, json")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(help)
			fmt.Fprint(help, compareUsage)
			flags.PrintDefaults()
		}
		return err
	}
	if len(reports) != 2 || flags.NArg() > 0 {
		return errors.New("-compare needs two folders: -compare OLD NEW")
	}
	if _, err := oneOf("format", formats, *format); err != nil {
		return fmt.Errorf("-format: %w", err)
	}
	var c comparison
	var groups [2][]measure.Group
	for i, path := range reports {
		data, err := measure.ReadFolder(path)
		if err == nil && len(data.Records) == 0 {
			err = fmt.Errorf("%s contains no results", path)
		}
		if err != nil {
			return fmt.Errorf("-compare: %w", err)
		}
		groups[i] = report.New(data.Environment, data.Records, data.Environment.Baseline).Groups
		c.environments[i] = data.Environment
	}
	c.changes, c.onlyOld, c.onlyNew = measure.Compare(groups[0], groups[1])
	c.of = len(c.changes)
	if !*all {
		c.changes = slices.DeleteFunc(c.changes, func(d measure.Change) bool { return d.Verdict < measure.Better })
	}
	switch *format {
	case "csv":
		return c.writeCSV(out)
	case "json":
		return c.writeJSON(out)
	}
	return c.writeText(out)
}

// comparison is what -compare prints.
type comparison struct {
	environments         [2]measure.Environment
	changes              []measure.Change
	of, onlyOld, onlyNew int
}

// row returns the cells of a change.
func row(d measure.Change) []string {
	f, digits := d.New, max(d.Old.Metric.Digits, d.New.Metric.Digits)
	return []string{
		f.Engine, f.Scenario, f.Params.String(), f.Kind, f.Metric.Name, decimal(d.Old.Median, digits),
		decimal(f.Median, digits), decimal(d.Ratio, 2), decimal(d.P, 4), d.Verdict.String(), decimal(d.Old.Ratio, 2),
		decimal(f.Ratio, 2),
	}
}

// head names the cells of a row. The last two are the ratios to the baseline.
var head = []string{
	"database", "scenario", "case", "key", "metric", "old", "new", "new/old", "p", "verdict", "old x baseline",
	"new x baseline",
}

func decimal(v float64, digits int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (c comparison) writeText(w io.Writer) error {
	for _, d := range c.environments[0].Differ(c.environments[1]) {
		fmt.Fprintf(w, "%s: %s | %s\n", d.Name, d.Old, d.New)
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	title := ""
	for _, d := range c.changes {
		cells := row(d)
		if t := fmt.Sprintf("%s, %s, %s", cells[0], cells[1], cells[2]); t != title {
			title = t
			fmt.Fprintf(table, "\n%s\n", t)
			printRow(table, head)
		}
		printRow(table, cells)
	}
	fmt.Fprintf(table, "\n%d of %d figures are printed. Only the old report has %d, only the new one %d.\n", len(c.changes), c.of,
		c.onlyOld, c.onlyNew)
	return table.Flush()
}

func printRow(w io.Writer, cells []string) {
	for _, cell := range cells[3:] {
		fmt.Fprintf(w, "%s\t", cell)
	}
	fmt.Fprintln(w)
}

func (c comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{head}
	for _, d := range c.changes {
		rows = append(rows, row(d))
	}
	return out.WriteAll(rows)
}

func (c comparison) writeJSON(w io.Writer) error {
	changes := make([]map[string]string, len(c.changes))
	for i, d := range c.changes {
		changes[i] = map[string]string{}
		for j, cell := range row(d) {
			changes[i][head[j]] = cell
		}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	out.SetEscapeHTML(false)
	return out.Encode(map[string]any{
		"settings": c.environments[0].Differ(c.environments[1]), "figures": changes, "of": c.of, "onlyOld": c.onlyOld,
		"onlyNew": c.onlyNew,
	})
}
