package testdb_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestATrapRunsForEachNameThatAStrangerCanTake(t *testing.T) {
	const (
		never  = iota
		second // if public is first
		always
	)
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		publicFirst := strings.HasSuffix(t.Name(), "public_first")
		db := victim.Open(t)
		for query, want := range map[string]int{
			"SELECT quote_ident(nspname) FROM pg_catalog.pg_namespace":   always,
			"SELECT EXTRACT(epoch FROM pg_catalog.now()) * 1000":         always,
			"SELECT format('%I', oid, relname) FROM pg_catalog.pg_class": always,
			"SELECT 5::bigint & 1":                                 always,
			"SELECT 'a'::pg_catalog.text || 5::bigint":             always,
			"SELECT EXTRACT(epoch FROM now())":                     second,
			"SELECT 'a'::text":                                     second,
			"SELECT 5::bigint IN (1, 2)":                           second,
			"SELECT CASE 'a'::pg_catalog.text WHEN 'b' THEN 1 END": second,
			"SELECT NULLIF('a'::pg_catalog.text, 'b')":             second,
			"SELECT relname FROM pg_class":                         second,
			"SELECT substr('abc'::pg_catalog.text, 1, 2)":          second,
			"SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_namespace ORDER BY nspname":   never,
			"SELECT EXTRACT(epoch FROM pg_catalog.now()) OPERATOR(pg_catalog.*) 1000":                never,
			"SELECT GREATEST(1, 5::bigint), COALESCE(NULL, 'a'::pg_catalog.text), CAST(5 AS bigint)": never,
			"SELECT DISTINCT 5 OPERATOR(pg_catalog.=) ANY (ARRAY[1, 2])":                             never,
		} {
			wanted := want == always || want == second && publicFirst
			_, err := db.ExecContext(t.Context(), query)
			trapped := err != nil && strings.Contains(err.Error(), "the trap ")
			if trapped != wanted || trapped != (err != nil) {
				t.Errorf("%s: %v, want a trap: %v", query, err, wanted)
			}
		}

		if _, err := victim.Safe.ExecContext(t.Context(), "SELECT setval('public.sprung', 1, false)"); err != nil {
			t.Error(err) // those that were wanted
		}
	})
}
