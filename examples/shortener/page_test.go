package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

// TestThePageShortensALink uses the page as a person does, in Chromium: on a desktop in the light, on a telephone in
// the dark.
func TestThePageShortensALink(t *testing.T) {
	gen, err := snowflake.New(5)
	exampletest.Must(t, err)
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&link{}))
	server := httptest.NewServer(newHandler(db))
	t.Cleanup(server.Close)

	b := openBrowser(t)
	for _, test := range []struct {
		width, height int
		scheme        string
	}{{1280, 800, "light"}, {360, 640, "dark"}} {
		b.call("window/rect", map[string]any{"width": test.width, "height": test.height})
		b.call("goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": test.scheme}},
		}})
		b.call("url", map[string]any{"url": server.URL})

		if wide := b.script("return document.documentElement.scrollWidth > innerWidth"); wide != "false" {
			t.Errorf("%s: the page is wider than the window", test.scheme)
		}

		dark := strings.HasPrefix(b.script("return getComputedStyle(document.body).backgroundColor"), "rgb(13,")
		if dark != (test.scheme == "dark") {
			t.Errorf("%s: the page is dark: %t", test.scheme, dark)
		}

		b.typeInto("#url", "javascript:alert(1)")
		b.click("form button")
		b.wait("#error", "^A link begins")

		b.typeInto("#url", "https://go.dev/doc")
		b.click("form button")
		short := b.wait("#result a", "^"+server.URL+"/[0-9A-Za-z]{11}$")

		if text := b.text("#error"); text != "" {
			t.Errorf("the error %q still stands", text)
		}

		b.click("#result button")
		b.wait("#result button", "^Copied$")

		answer, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, short, nil))
		exampletest.Must(t, err)
		exampletest.Must(t, answer.Body.Close())

		if got := answer.Header.Get("Location"); got != "https://go.dev/doc" {
			t.Errorf("%s leads to %q", short, got)
		}
	}
}

// browser is a session of Chromium, driven by WebDriver (https://www.w3.org/TR/webdriver2/).
type browser struct {
	t       *testing.T
	session string
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	for _, name := range []string{"chromium", "chromedriver"} {
		if _, err := exec.LookPath(name); err != nil {
			skip.Missing(t, "", "%v (Debian: chromium-driver)", err)
		}
	}

	// The test's context ends before the session is deleted: without its driver the browser would go on.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "chromedriver", "--port=0")
	output, err := cmd.StdoutPipe()
	exampletest.Must(t, err)
	exampletest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	port := ""
	lines := bufio.NewScanner(output)
	for port == "" && lines.Scan() {
		if found := regexp.MustCompile(`successfully on port (\d+)`).FindStringSubmatch(lines.Text()); found != nil {
			port = found[1]
		}
	}

	b := &browser{t: t, session: "http://127.0.0.1:" + port + "/session"}
	arguments := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking",
	}
	options := map[string]any{"args": arguments}
	var opened struct{ SessionID string }
	opening := b.call("", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{"goog:chromeOptions": options}}})
	exampletest.Must(t, json.Unmarshal(opening, &opened))
	b.session += "/" + opened.SessionID
	t.Cleanup(func() {
		r, err := http.NewRequest(http.MethodDelete, b.session, nil) //nolint:noctx // the test's context has ended
		exampletest.Must(t, err)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
		}
	})

	return b
}

// call sends a command and returns the value of the answer.
func (b *browser) call(command string, parameters map[string]any) json.RawMessage {
	b.t.Helper()
	body, err := json.Marshal(parameters)
	exampletest.Must(b.t, err)
	answer, err := http.Post(strings.TrimSuffix(b.session+"/"+command, "/"), "application/json", bytes.NewReader(body))
	exampletest.Must(b.t, err)
	defer func() { _ = answer.Body.Close() }()

	var result struct{ Value json.RawMessage }
	exampletest.Must(b.t, json.NewDecoder(answer.Body).Decode(&result))
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s", command, result.Value)
	}

	return result.Value
}

// script runs JavaScript and returns what it returns as text.
func (b *browser) script(text string) string {
	b.t.Helper()
	var value any
	exampletest.Must(b.t, json.Unmarshal(b.call("execute/sync", map[string]any{"script": text, "args": []any{}}),
		&value))
	return fmt.Sprint(value)
}

func (b *browser) find(selector string) (command string) {
	b.t.Helper()
	var element map[string]string
	found := b.call("element", map[string]any{"using": "css selector", "value": selector})
	exampletest.Must(b.t, json.Unmarshal(found, &element))
	for _, id := range element {
		command = "element/" + id
	}
	return command
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.call(b.find(selector)+"/click", map[string]any{})
}

func (b *browser) typeInto(selector, text string) {
	b.t.Helper()
	element := b.find(selector)
	b.call(element+"/clear", map[string]any{})
	b.call(element+"/value", map[string]any{"text": text})
}

// text returns the text of an element that is shown, "" if it is hidden.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return b.script("return document.querySelector('" + selector + "').innerText")
}

// wait returns the text of an element when it matches.
func (b *browser) wait(selector, pattern string) (text string) {
	b.t.Helper()
	for range 300 {
		text = b.text(selector)
		if regexp.MustCompile(pattern).MatchString(text) {
			return text
		}
		time.Sleep(100 * time.Millisecond)
	}

	b.t.Fatalf("%s has the text %q, want %s", selector, text, pattern)
	return ""
}
