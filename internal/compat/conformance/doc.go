// Package conformance holds the conformance table of the ID types: every type, through every driver and ORM in each of its
// modes, put to the same checks. CONFORMANCE.md shows it.
//
// A cell of the table either passes all of a check, or is listed as an exception with the failure it must show and the
// reason. A listed cell that passes fails the test as well, so the list stays true. Broken types, kept here for the purpose,
// prove that each check can fail.
package conformance

//go:generate go test -run=^TestPageIsCurrent$ -update
