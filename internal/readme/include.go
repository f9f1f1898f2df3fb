package readme

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

var (
	includes = regexp.MustCompile(`^<!-- include: (\S+\.md) -->$`)
	included = "<!-- end -->"
)

// Include returns the Markdown text with what is between each "<!-- include: FILE.md -->" and its "<!-- end -->"
// replaced by the file, and a line for each place that was different. Paths are relative to root. The error has one
// line for each missing file and each include without an end.
func Include(markdown string, root fs.FS) (updated string, different []string, err error) {
	lines := strings.SplitAfter(markdown, "\n")
	var out strings.Builder
	var faults []error
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		m := includes.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && !marks(lines[end]) {
			end++
		}
		if end == len(lines) || strings.TrimRight(lines[end], "\r\n") != included {
			faults = append(faults, fmt.Errorf("line %d: no %s follows", i+1, included))
			continue
		}
		text, err := fs.ReadFile(root, m[1])
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		want := "\n" + strings.TrimSpace(string(text)) + "\n\n"
		if strings.Join(lines[i+1:end], "") != want {
			different = append(different, fmt.Sprintf("line %d: the text differs from %s", i+1, m[1]))
		}
		out.WriteString(want + lines[end])
		i = end
	}
	return out.String(), different, errors.Join(faults...)
}

// marks reports whether the line begins or ends an included text.
func marks(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	return line == included || includes.MatchString(line)
}
