package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// report prints a line for each server and returns the environment of the tests, with the address of each server. With
// the addresses fixed, go test does not reuse cached results of other servers. It returns an error if a needed server
// is missing.
func report(w io.Writer, servers []testdb.Status) (env []string, err error) {
	env = os.Environ()
	for _, s := range servers {
		value := s.Value
		switch {
		case s.Err == nil:
			fmt.Fprintf(w, "%-9s %s at %s\n", s.Name, s.Version, s.Address)
		case s.Needed:
			fmt.Fprintf(w, "%-9s %v: its tests would fail (set %s)\n", s.Name, s.Err, s.Variable)
			err = errors.New("a needed server is missing")
		default:
			fmt.Fprintf(w, "%-9s %v: its tests are skipped (set %s)\n", s.Name, s.Err, s.Variable)
			value = testdb.Off
		}
		env = append(env, s.Variable+"="+value)
	}
	return env, err
}
