// Package libraries has the table of how the ID types travel through encoders, web frameworks, loggers and other
// libraries. LIBRARIES.md shows it. Each type is written and read by each library in a test, which also looks for the
// number of a publicid.ID in all that was written.
//
// It is a module of its own, so that users of sqlflake do not download the libraries. Those that take long to compile
// are left out unless the build tag heavy is set. With -race there are no tests: they would compile all libraries again.
package libraries

//go:generate go test -tags heavy -run=^TestPageIsCurrent$ -update
