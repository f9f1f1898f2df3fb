package readme

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	codeSpans = regexp.MustCompile("`[^`]*`")
	links     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings  = regexp.MustCompile(`^#+ +(.+)$`)
	dropped   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`) // what GitHub removes from a heading to make its anchor
)

// BrokenLinks returns a line for each relative link of the Markdown file whose target does not exist below root. A target
// is a file, a folder or a heading ("#name", "FILE.md#name").
func BrokenLinks(name string, root fs.FS) ([]string, error) {
	markdown, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	var broken []string
	for number, line := range prose(string(markdown)) {
		for _, m := range links.FindAllStringSubmatch(codeSpans.ReplaceAllString(line, ""), -1) {
			if strings.Contains(m[1], ":") { // https:, mailto:
				continue
			}
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(root, target); err != nil || heading != "" && !hasHeading(root, target, heading) {
				broken = append(broken, fmt.Sprintf("line %d: the target of the link %s does not exist", number, m[1]))
			}
		}
	}
	return broken, nil
}

func hasHeading(root fs.FS, name, want string) bool {
	markdown, err := fs.ReadFile(root, name)
	if err != nil {
		return false
	}
	for _, line := range prose(string(markdown)) {
		if m := headings.FindStringSubmatch(line); m != nil {
			slug := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
			if strings.ReplaceAll(slug, " ", "-") == want {
				return true
			}
		}
	}
	return false
}

// prose yields the lines outside of code blocks, with their numbers.
func prose(markdown string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		lines := strings.Split(markdown, "\n")
		for i := 0; i < len(lines); i++ {
			if _, fence := openFence(lines[i]); fence {
				i = closeFence(lines, i)
			} else if !yield(i+1, strings.TrimRight(lines[i], "\r")) {
				return
			}
		}
	}
}
