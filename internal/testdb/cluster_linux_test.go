package testdb_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func clusterDir(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir := u.Query().Get("host")
	if !strings.HasPrefix(filepath.Base(dir), "sqlflake-srv-") {
		t.Fatalf("no throwaway cluster: %s", dsn)
	}
	return dir
}

func needBinaries(t *testing.T) {
	t.Helper()
	if matches, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(matches) == 0 {
		t.Skip("no PostgreSQL binaries in /usr/lib/postgresql")
	}
}

func TestThrowawayClusterServesAndIsRemoved(t *testing.T) {
	needBinaries(t)
	for name, env := range map[string][2]string{
		"because it is asked for":             {asUsual, "SNOWFLAKE_TEST_POSTGRES=throwaway"},
		"because the default does not answer": {withoutDefault, "SNOWFLAKE_TEST_POSTGRES="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, ok := runChild(t, env[0], "TestChildUsesPostgres", env[1])
			if !ok {
				t.Fatalf("want success:\n%s", out)
			}
			dir := clusterDir(t, printed(t, out, "dsn"))
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		})
	}
}
