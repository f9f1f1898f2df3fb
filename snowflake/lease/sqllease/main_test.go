package sqllease_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	if os.Getenv(killVariable) == "" {
		os.Exit(testdb.Main(m))
	}
	if err := runMover(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
