// Package readme tests that the Go code in Markdown files is code that is compiled and run, and that their links have
// targets.
package readme
