// Package prometheus tests the alert rules and the dashboard of promsnowflake with the engine of Prometheus. With -race
// it has no tests: the engine takes long to compile.
package prometheus
