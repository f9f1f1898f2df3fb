package main

import (
	"embed"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

//go:embed decoder/*.tmpl
var decoderFiles embed.FS

type decoderOptions struct {
	name   string // of the template
	layout chosenLayout
	prefix string
}

// decoderCommand returns the command that prints a decoder for a language.
func decoderCommand(name, language, extension string) *cobra.Command {
	o := &decoderOptions{name: name}
	c := &cobra.Command{
		Use:   name,
		Short: "Print a decoder in " + language,
		Long: `It prints the source of a decoder for a layout, which needs no library: a file
to commit beside the program that reads IDs of this layout. Print it again when
the layout changes.`,
		Example: fmt.Sprintf("  sqlflake %s >ids.%s\n  sqlflake %[1]s --layout twitter --prefix user >user_ids.%[2]s",
			name, extension),
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.OutOrStdout()) },
	}

	layoutFlag(c, &o.layout)
	c.Flags().StringVar(&o.prefix, "prefix", "", "also read typed IDs that begin with `prefix` and an underscore")
	return c
}

// typedPrefix is the rule of sqltypes.Kind.
var typedPrefix = regexp.MustCompile(`^[a-z]([a-z_]{0,61}[a-z])?$`)

func (o *decoderOptions) run(out io.Writer) error {
	if o.prefix != "" && !typedPrefix.MatchString(o.prefix) {
		return usage("the prefix is %.40q, want letters a to z, with underscores only between them", o.prefix)
	}

	text, err := template.ParseFS(decoderFiles, "decoder/"+o.name+".tmpl")
	if err != nil {
		return err
	}
	return text.Execute(out, decoderOf(o.layout.Layout, o.prefix))
}

// decoderData is what a template shows of a layout.
type decoderData struct {
	Layout, Prefix        string
	EpochNanos, TickNanos int64
	Fields                []decoderField // without the time
	time                  []decoderField // one or two parts
}

type decoderField struct {
	Name  string
	Shift int
	Mask  uint64
	bits  int
}

func decoderOf(l snowflake.Layout, prefix string) decoderData {
	d := decoderData{
		Layout: l.String(), Prefix: prefix,
		EpochNanos: l.Epoch().UnixNano(), TickNanos: int64(l.Tick()),
	}

	shift := l.Bits()
	for _, f := range l.Fields() {
		shift -= f.Bits
		field := decoderField{f.Name, shift, 1<<f.Bits - 1, f.Bits}
		if f.Name == snowflake.FieldTime {
			d.time = append(d.time, field)
		} else {
			d.Fields = append(d.Fields, field)
		}
	}
	return d
}

// Ticks returns the expression for the number of ticks of id, with a suffix at each number.
func (d decoderData) Ticks(suffix string) string {
	var parts []string
	for i, f := range d.time {
		part := fmt.Sprintf("((id >> %d%s) & %d%s)", f.Shift, suffix, f.Mask, suffix)
		if i == 0 && len(d.time) == 2 {
			part = fmt.Sprintf("(%s << %d%s)", part, d.time[1].bits, suffix)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " | ")
}

// Skip is the length of the prefix with its underscore.
func (d decoderData) Skip() int { return len(d.Prefix) + 1 }

// Sample is a typed ID.
func (d decoderData) Sample() string { return d.Prefix + "_04W86BB0G4007" }

// Kind is the prefix as the name of a type: user_account is UserAccount.
func (d decoderData) Kind() string {
	var b strings.Builder
	for word := range strings.SplitSeq(d.Prefix, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
