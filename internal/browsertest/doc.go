// Package browsertest uses the pages of the examples in a headless browser as a person would: it finds buttons and
// links by their role and name, clicks and types, and reads what is shown. It is a module of its own, so that users of
// sqlflake do not download what drives the browser.
//
// The tests run in Chromium or Chrome, version 123 or newer. SNOWFLAKE_TEST_BROWSER is the path of the program, or
// "off"; without it the tests look for one. If there is none they are skipped, or fail if SNOWFLAKE_TEST_REQUIRE is
// "all". SNOWFLAKE_TEST_AXE is the path of axe.min.js of the npm package axe-core, whose rules of accessibility each
// page then passes as well.
//
// The go command does not see that a page has changed. Run:
//
//	go test -C internal/browsertest -count=1 ./...
//	go test -C internal/browsertest -count=1 -update-screenshots ./...
package browsertest
