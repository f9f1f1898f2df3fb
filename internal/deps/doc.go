// Package deps holds the tests of what a program gets into its build with each package of this module.
package deps
