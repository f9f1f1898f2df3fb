// Package browser finds the browser that internal/browsertest uses. It is not in that module, so that internal/testall
// can report a missing browser.
package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Variable names the environment variable with the path of the program, or "off".
const Variable = "SNOWFLAKE_TEST_BROWSER"

// ErrOff is the error of Find if the variable is "off".
var ErrOff = errors.New(Variable + " is off")

// Find returns the path of Chromium or Chrome: that of the variable, or of the first one that is installed.
func Find() (string, error) {
	names := []string{os.Getenv(Variable)}
	switch {
	case names[0] == "off":
		return "", ErrOff
	case names[0] != "":
	case runtime.GOOS == "darwin":
		names = []string{
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
			"/Applications/Chromium.app/Contents/MacOS/Chromium",
		}
	case runtime.GOOS == "windows":
		names = []string{
			`C:\Program Files\Google\Chrome\Application\chrome.exe`,
			`C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
		}
	default:
		names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	}
	for _, name := range names {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("found none of %q", names)
}
