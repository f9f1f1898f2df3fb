// Package compat has tests that need modules that sqlflake does not: gormplugin with other GORM plugins here, the ID
// types with drivers in conformance, and with encoders and web frameworks in libraries, and what promsnowflake comes
// with in prometheus. It is a module apart, so that users of sqlflake do not download those modules.
package compat
