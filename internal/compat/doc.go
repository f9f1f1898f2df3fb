// Package compat holds tests of gormplugin together with other plugins of GORM. It is a module of its own, so that nobody
// who uses sqlflake gets them with it.
package compat
