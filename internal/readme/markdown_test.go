package readme

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the code in the Markdown files from what it refers to")

const root = "../.."

// markdownFiles returns the contents of the repository's Markdown files by their paths.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			content, err := fs.ReadFile(os.DirFS(root), path)
			files[path] = string(content)
			return err
		}
		return nil
	})
	if err != nil || files["README.md"] == "" {
		t.Fatalf("no README.md among %d files, error %v", len(files), err)
	}
	return files
}

func TestReadmeIsOnePage(t *testing.T) {
	if n := strings.Count(markdownFiles(t)["README.md"], "\n"); n > 160 {
		t.Errorf("README.md has %d lines, want at most 160; details go into the README of the package they describe", n)
	}
}

var (
	codeBlocks = regexp.MustCompile("(?ms)^ *```.*?^ *```\\s*?$")
	codeSpans  = regexp.MustCompile("`[^`\n]*`")
	links      = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	dropped    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`) // what GitHub removes from a heading to make its anchor
)

func TestLinkTargetsExist(t *testing.T) {
	files := markdownFiles(t)
	for name, content := range files {
		prose := codeSpans.ReplaceAllString(codeBlocks.ReplaceAllString(content, ""), "")
		for _, m := range links.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], ":") { // https:, mailto:
				continue
			}
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(path.Join(root, target)); err != nil || heading != "" && !hasHeading(files[target], heading) {
				t.Errorf("%s: the target of the link %s does not exist", name, m[1])
			}
		}
	}
}

func hasHeading(markdown, want string) bool {
	for _, m := range headings.FindAllStringSubmatch(codeBlocks.ReplaceAllString(markdown, ""), -1) {
		slug := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == want {
			return true
		}
	}
	return false
}
