package browser_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/browser"
)

func TestVariableNamesTheBrowser(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(browser.Variable, program)
	if found, err := browser.Find(); err != nil || found != program {
		t.Errorf("found %q, error %v, want %q", found, err, program)
	}
	t.Setenv(browser.Variable, "no-such-browser") // not another one
	if found, err := browser.Find(); err == nil || !strings.Contains(err.Error(), "no-such-browser") {
		t.Errorf("found %q, error %v", found, err)
	}
	t.Setenv(browser.Variable, "off")
	if found, err := browser.Find(); !errors.Is(err, browser.ErrOff) {
		t.Errorf("found %q, error %v, want %v", found, err, browser.ErrOff)
	}
}
