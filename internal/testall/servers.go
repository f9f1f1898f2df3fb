package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// report prints one line a server and returns the environment that leads the tests to these very servers. The address
// of each is then fixed, so the tests neither look for a server again nor take a cached result from the time when there
// was none. It returns an error when a server is missing that must be there.
func report(w io.Writer, servers []testdb.Status) (env []string, err error) {
	env = os.Environ()
	for _, s := range servers {
		value := s.Value
		switch {
		case s.Err == nil:
			fmt.Fprintf(w, "%-9s %s at %s\n", s.Name, s.Version, s.Address)
		case s.Needed:
			fmt.Fprintf(w, "%-9s %v: its tests would fail (set %s)\n", s.Name, s.Err, s.Variable)
			err = errors.New("a server is missing that has to be there")
		default:
			fmt.Fprintf(w, "%-9s %v: its tests are skipped (set %s)\n", s.Name, s.Err, s.Variable)
			value = testdb.Off
		}
		env = append(env, s.Variable+"="+value)
	}
	return env, err
}
