// Package spec has the test vectors of docs/SPEC.md. Its tests make them from the packages of this module, and give
// them to implementations in other languages.
package spec
