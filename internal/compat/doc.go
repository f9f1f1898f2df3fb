// Package compat has tests that need modules that sqlflake does not: gormplugin with other plugins of GORM here, and
// each ID type with each driver in conformance. The module libraries tests the types with encoders and web frameworks.
// Both are modules of their own, so that users of sqlflake do not download those modules.
package compat
