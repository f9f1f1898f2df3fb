package operator_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/operator"
)

func TestQualifyWritesOperatorsAndNothingElse(t *testing.T) {
	for _, statement := range []string{
		"SELECT a {+} 1, 'x = y -- (' FROM \"a=b\" WHERE a {<>} $1 AND (b {<=} 2 OR c {~~} '%') -- d = e\nAND f {>=} g",
		"UPDATE t SET a = b, c = CASE WHEN d {=} e THEN f {*} 2 ELSE (g {-} 1) END, h = ((i {+} 1)) FROM j WHERE k {=} l",
		"UPDATE t SET a = (SELECT b FROM c WHERE d {=} e), f = g WHERE h {<} i",
		"INSERT INTO t (a, b) VALUES ($1, 1 {+} 2) ON CONFLICT (a) DO UPDATE SET b = t.b {+} $2 WHERE t.b {>} 3 RETURNING b",
	} {
		plain := strings.NewReplacer("{", "", "}", "").Replace(statement)
		want := strings.NewReplacer("{", "OPERATOR(pg_catalog.", "}", ")").Replace(statement)
		if got := operator.Qualify(plain); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", plain, got, want)
		}
	}
}
