// Package conformance tests every ID type with every driver and ORM in each of its modes.
//
// A combination passes each check, or is listed as an exception with its expected failure; the README has the reasons.
// A listed one that passes fails the test, so the list stays correct.
package conformance
