// Package compat has tests that need modules that sqlflake does not: gormplugin with other plugins of GORM here, and
// each ID type with each driver in conformance. It is a module of its own, so that users of sqlflake do not download
// those modules.
package compat
