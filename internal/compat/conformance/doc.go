// Package conformance has the conformance table of the ID types: every type with every driver and ORM in each of its
// modes runs the same checks. CONFORMANCE.md shows the results.
//
// A cell of the table either passes a check, or is listed as an exception with its expected failure and the reason. A
// listed cell that passes fails the test, so the list stays correct. Broken types prove that each check can fail.
package conformance

//go:generate go test -run=^TestPageIsCurrent$ -update
