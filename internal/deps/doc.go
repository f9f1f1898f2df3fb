// Package deps tests which modules a program depends on with each package of this module.
package deps
