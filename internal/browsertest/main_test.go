package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sqlflake/sqlflake/internal/browser"
)

const (
	axeVariable     = "SNOWFLAKE_TEST_AXE"
	requireVariable = "SNOWFLAKE_TEST_REQUIRE"
)

var updateScreenshots = flag.Bool("update-screenshots", false, "write the screenshots of the READMEs")

// temp is the folder of the programs that the tests build, and of the browser's profile.
var temp string

// stopBrowser ends the browser, if there is one.
var stopBrowser = func() {}

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) (code int) {
	var err error
	if temp, err = os.MkdirTemp("", "browsertest"); err != nil {
		panic(err)
	}
	defer func() {
		stopBrowser()
		err := os.RemoveAll(temp)
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); { // processes of the browser still write
			time.Sleep(pause)
			err = os.RemoveAll(temp)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "browsertest:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// started starts the browser at the first call.
var started = sync.OnceValues(func() (context.Context, error) {
	program, err := browser.Find()
	if err != nil {
		return nil, err
	}
	// The flags of chromedp, and those without which the browser asks servers of its maker, or needs a GPU or the
	// rights to make a sandbox. The tests open pages of this machine only.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(filepath.Join(temp, "profile")),
		chromedp.WSURLReadTimeout(patience)) // a busy machine takes long to start it
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	stopBrowser = func() { end(); stop() }
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return ctx, nil
})

// needBrowser returns the running browser. If there is none, it skips the test, or fails it as testdb does for a database.
func needBrowser(t *testing.T) context.Context {
	t.Helper()
	if _, err := browser.Find(); errors.Is(err, browser.ErrOff) || err != nil && os.Getenv(requireVariable) != "all" {
		t.Skipf("browsertest: %v (set %s)", err, browser.Variable)
	}
	ctx, err := started()
	if err != nil {
		t.Fatalf("browsertest: %v (set %s)", err, browser.Variable)
	}
	return ctx
}
