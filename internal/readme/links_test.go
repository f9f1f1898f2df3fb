package readme_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/sqlflake/sqlflake/internal/readme"
)

func TestBrokenLinksAreNamedWithTheirLine(t *testing.T) {
	const text = "# A `b` title\n[x](https://example.org/a) [x](b.go) [x](..) ![x](../c.md#b-c)\n[x](#a-b-title) `[x](none.go)`\n" +
		"```go\n# no heading\n[x](none.go)\n```\n[x](none.go)\n[x](#no-heading) [x](b.go#x)\n"
	root := fstest.MapFS{"a/README.md": {Data: []byte(text)}, "a/b.go": {}, "c.md": {Data: []byte("## B (c)\n")}}
	got, err := readme.BrokenLinks("a/README.md", root)
	want := []string{
		"line 8: the target of the link none.go does not exist",
		"line 9: the target of the link #no-heading does not exist",
		"line 9: the target of the link b.go#x does not exist",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, error %v, want %q", got, err, want)
	}
}
