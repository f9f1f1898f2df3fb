package report

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

//go:embed sentences.txt
var sentenceText string

// sentence is a line of sentences.txt, which describes its parts.
type sentence struct{ section, engine, from, when, text string }

// sentences returns those of a section for an engine: the first that fits of each paragraph. They tell of ratios to
// auto-increment.
func (r Report) sentences(section, engine string) []string {
	var all []string
	if r.Baseline != "auto" {
		return nil
	}
	for paragraph := range strings.SplitSeq(sentenceText, "\n\n") {
		for line := range strings.Lines(paragraph) {
			part := strings.Split(strings.TrimSpace(line), " | ")
			if len(part) != 5 {
				continue // a comment
			}
			s := sentence{part[0], part[1], part[2], part[3], part[4]}
			if s.section != section || s.engine != "*" && s.engine != engine {
				continue
			}
			if text, ok := r.say(s, engine); ok {
				all = append(all, text)
				break
			}
		}
	}
	return all
}

var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

func (r Report) say(s sentence, engine string) (string, bool) {
	for condition := range strings.SplitSeq(s.when, ", ") {
		part := strings.Fields(condition)
		if part[0] == "-" {
			continue
		}
		f, ok := r.figure(engine, s.from, part[0], part[1])
		if !ok || len(part) > 2 && f.Verdict.String() != part[2] {
			return "", false
		}
	}
	complete := true
	text := placeholder.ReplaceAllStringFunc(s.text, func(match string) string {
		part := strings.Fields(strings.Trim(match, "{}"))
		from := s.from
		if other, ok := strings.CutPrefix(part[len(part)-1], "@"); ok {
			from, part = other, part[:len(part)-1]
		}
		if name, ok := strings.CutPrefix(part[0], "#"); ok {
			g, found := r.groupOf(engine, from)
			own, _ := r.groupOf(engine, s.from)
			complete = complete && found && (from == s.from || g.Params.Get(name) != own.Params.Get(name))
			return document.Number(parse(g.Params.Get(name)), 0)
		}
		f, ok := r.figure(engine, from, part[0], part[1])
		complete = complete && ok
		if len(part) < 3 {
			return withUnit(f.Metric, f.Median)
		}
		complete = complete && f.Verdict != measure.Unknown && f.Verdict != measure.Few
		text := document.Factor(f.Ratio) + " times"
		if unsure(f) {
			text += " (not certain)"
		} else if f.Verdict == measure.Same && !f.Metric.Exact {
			text += " (no difference shown)"
		}
		return text
	})
	return text, complete
}

// groupOf finds the group of a case, "scenario:where".
func (r Report) groupOf(engine, from string) (measure.Group, bool) {
	scenario, where, _ := strings.Cut(from, ":")
	return r.group(engine, scenario, where)
}

func (r Report) figure(engine, from, kind, metric string) (measure.Figure, bool) {
	g, ok := r.groupOf(engine, from)
	if !strings.Contains(from, ":") {
		g, ok = r.judged(engine, from, metric)
	}
	if !ok {
		return measure.Figure{}, false
	}
	return g.Figure(kind, lastPoint(g, metric))
}
