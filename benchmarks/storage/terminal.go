package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

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

// styleOf returns how to write tables to w.
func styleOf(w io.Writer) report.Style {
	width := widthOf(w)
	if width == nil {
		return report.Style{}
	}
	return report.Style{Width: width(), Color: os.Getenv("NO_COLOR") == ""}
}
