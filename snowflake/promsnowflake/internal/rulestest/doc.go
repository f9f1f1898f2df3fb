// Package rulestest tests the alert rules and the dashboard of promsnowflake with the engine of Prometheus. It is a module
// of its own, since that engine has many dependencies. With -race it has no tests: the engine takes long to compile.
package rulestest
