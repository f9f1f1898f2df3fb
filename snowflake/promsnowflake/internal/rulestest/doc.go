// Package rulestest tests the alert rules and the dashboard of promsnowflake with the engine of Prometheus. It is a
// separate module, since that engine has many dependencies. With -race it has no tests: the engine takes long to compile.
package rulestest
