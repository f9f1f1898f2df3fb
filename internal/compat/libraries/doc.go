// Package libraries tests how the ID types travel through encoders, web frameworks, loggers and other libraries: what is
// written is read back the same, and never shows the number of a publicid.ID. With -race there are no tests: they would
// compile all libraries once more.
package libraries
