// Package readme keeps the Go code in Markdown files equal to code that is compiled and run.
//
// A block of Go code is preceded by a comment that names the file and the declarations it is copied from:
//
//	<!-- example: snowflake/example_test.go Example_order -->
//	```go
//	...
//	```
//
// For an Example function the block is the body with its "// Output:" comment; go test does not run an example without
// one. For any other function, type, variable or constant it is the whole declaration with its comment. Several
// declarations are separated by an empty line. Without a name it is the whole file.
//
// Text can be included from another Markdown file, such as a table of figures that a command has written:
//
//	<!-- include: benchmarks/docs/table.md -->
//	...
//	<!-- end -->
package readme

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

var (
	reference = regexp.MustCompile(`^<!-- example: (\S+\.go)((?: \S+)*) -->$`)
	almost    = regexp.MustCompile(`(?i)^<!--\s*example\b`) // a reference, perhaps misspelled
)

// Sync returns the Markdown text with each block of Go code replaced by the code that it refers to, and a line for each
// block that was different. Paths are relative to root. The error has one line for each block without a reference,
// reference without a block, malformed reference and missing file or declaration.
func Sync(markdown string, root fs.FS) (updated string, different []string, err error) {
	lines := strings.SplitAfter(markdown, "\n")
	var out strings.Builder
	var faults []error
	var ref *ref // the reference whose block has not come yet
	for i := 0; i < len(lines); i++ {
		line, number := lines[i], i+1
		info, fence := openFence(line)
		switch {
		case fence:
			end := closeFence(lines, i)
			code := strings.Join(lines[i+1:end], "")
			switch {
			case end == len(lines):
				faults = append(faults, fmt.Errorf("line %d: the block has no end", number))
			case ref != nil && info != "go":
				faults = append(faults, fmt.Errorf("line %d: the block after a reference is not ```go", number))
			case ref != nil:
				want, err := ref.load(root)
				if err != nil {
					faults = append(faults, fmt.Errorf("line %d: %w", ref.line, err))
				} else if want != code {
					different = append(different, fmt.Sprintf("line %d: the block differs from %s", number, ref))
					code = want
				}
			case info == "go":
				faults = append(faults, fmt.Errorf("line %d: Go code without <!-- example: FILE NAME --> before it", number))
			}
			ref = nil
			out.WriteString(line + code)
			if i = end; end < len(lines) {
				out.WriteString(lines[end])
			}
			continue
		case strings.TrimSpace(line) == "":
		default:
			if ref != nil {
				faults = append(faults, fmt.Errorf("line %d: no block follows the reference", ref.line))
			}
			if ref = parseReference(line, number); ref == nil && almost.MatchString(line) {
				faults = append(faults, fmt.Errorf("line %d: want <!-- example: FILE.go NAME... -->", number))
			}
		}
		out.WriteString(line)
	}
	if ref != nil {
		faults = append(faults, fmt.Errorf("line %d: no block follows the reference", ref.line))
	}
	return out.String(), different, errors.Join(faults...)
}

// ref is a reference to code.
type ref struct {
	line  int // in the Markdown text
	file  string
	names []string
}

func (r *ref) String() string { return strings.Join(append([]string{r.file}, r.names...), " ") }

func (r *ref) load(root fs.FS) (string, error) {
	src, err := fs.ReadFile(root, r.file)
	if err != nil {
		return "", err
	}
	return Extract(r.file, src, r.names)
}

func parseReference(line string, number int) *ref {
	m := reference.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return nil
	}
	return &ref{line: number, file: m[1], names: strings.Fields(m[2])}
}

// openFence returns the language of the block that the line opens.
func openFence(line string) (info string, ok bool) {
	info, ok = strings.CutPrefix(strings.TrimLeft(line, " "), "```")
	info = strings.ToLower(strings.TrimSpace(info))
	if info == "golang" {
		info = "go"
	}
	return info, ok
}

// closeFence returns the index of the line that closes the block opened at start, len(lines) if none does.
func closeFence(lines []string, start int) int {
	for i := start + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "```" {
			return i
		}
	}
	return len(lines)
}
