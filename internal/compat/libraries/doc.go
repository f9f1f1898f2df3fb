// Package libraries tests how the ID types travel through encoders, web frameworks, loggers and other libraries. What
// is written is read back the same, and never shows the number of a publicid.ID. What another program has written is
// the same ID or an error, or the README has the line that mends it. With -race there are no tests: they would compile
// all libraries once more.
package libraries
