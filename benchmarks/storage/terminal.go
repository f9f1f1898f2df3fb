package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

// leastWidth is what is taken for the width of a terminal that says nothing, or nonsense.
const leastWidth = 40

// widthOf returns the columns of a terminal; nil for a pipe, a file, or a terminal that can't redraw.
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
