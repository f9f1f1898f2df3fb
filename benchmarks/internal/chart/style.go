package chart

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// Colors are the variables of the styles, for light and dark screens and for paper.
//
//go:embed colors.css
var Colors string

// Style is that of the charts. It uses Colors.
//
//go:embed chart.css
var Style string

// Write writes charts below each other, as one picture.
func Write(w io.Writer, title string, charts ...Chart) error {
	all := Chart{Title: title, Width: barsWidth + 20, Height: 10}
	for _, c := range charts {
		all.Body += fmt.Sprintf(`<g transform="translate(10 %s)">%s</g>`+"\n", at(all.Height), c.Body)
		all.Text += c.Title + ": " + c.Text + " "
		all.Height += c.Height + 14
		all.Width = max(all.Width, c.Width+20)
	}
	all.Body = fmt.Sprintf("<style>%s</style>\n"+`<rect class="back" width="%s" height="%s"/>`+"\n%s",
		Colors+Style, at(all.Width), at(all.Height), all.Body)
	// A picture without a size fills the width of a README.
	size := fmt.Sprintf(`<svg width="%s" height="%s" `, at(all.Width), at(all.Height))
	_, err := io.WriteString(w, strings.Replace(all.SVG("title"), "<svg ", size, 1)+"\n")
	return err
}
