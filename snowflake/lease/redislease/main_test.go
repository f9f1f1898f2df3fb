package redislease_test

import (
	"os"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(orderVariable); ok {
		os.Exit(issue(text))
	}
	os.Exit(testdb.Main(m))
}
