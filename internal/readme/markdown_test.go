package readme

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
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
	if n := strings.Count(markdownFiles(t)["README.md"], "\n"); n > 220 {
		t.Errorf("README.md has %d lines, want at most 220; details go into the README of the package they describe", n)
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
	for name, content := range markdownFiles(t) {
		for _, target := range brokenLinks(name, content, os.DirFS(root)) {
			t.Errorf("%s: the target of the link %s does not exist", name, target)
		}
	}
}

// brokenLinks returns the relative links of the Markdown file whose target does not exist below root. A target is a file,
// a folder or a heading ("#name", "FILE.md#name").
func brokenLinks(name, markdown string, root fs.FS) (broken []string) {
	prose := codeSpans.ReplaceAllString(codeBlocks.ReplaceAllString(markdown, ""), "")
	for _, m := range links.FindAllStringSubmatch(prose, -1) {
		if strings.Contains(m[1], ":") { // https:, mailto:
			continue
		}
		file, heading, _ := strings.Cut(m[1], "#")
		target := name
		if file != "" {
			target = path.Join(path.Dir(name), file)
		}
		if _, err := fs.Stat(root, target); err != nil || heading != "" && !hasHeading(root, target, heading) {
			broken = append(broken, m[1])
		}
	}
	return broken
}

func hasHeading(root fs.FS, name, want string) bool {
	markdown, _ := fs.ReadFile(root, name) // a folder has no headings
	for _, m := range headings.FindAllStringSubmatch(codeBlocks.ReplaceAllString(string(markdown), ""), -1) {
		slug := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == want {
			return true
		}
	}
	return false
}

func TestBrokenLinksAreFound(t *testing.T) {
	const text = "# A `b` title\n[x](https://example.org/a) [x](b.go) [x](..) ![x](../c.md#b-c)\n[x](#a-b-title) `[x](none.go)`\n" +
		"```go\n# no heading\n[x](none.go)\n```\n[x](none.go)\n[x](#no-heading) [x](b.go#x)\n"
	root := fstest.MapFS{"a/README.md": {Data: []byte(text)}, "a/b.go": {}, "c.md": {Data: []byte("## B (c)\n")}}
	if got, want := fmt.Sprint(brokenLinks("a/README.md", text, root)), "[none.go #no-heading b.go#x]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
