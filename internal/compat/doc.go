// Package compat holds tests of sqlflake together with what only a test needs: gormplugin beside other plugins of GORM here,
// and in conformance each ID type through each driver. It is a module of its own, so that nobody who uses sqlflake gets them
// with it.
package compat
