package sqltypes_test

import (
	"database/sql"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// database is a connection to a target with SQL that all targets understand.
type database struct {
	*sql.DB
	target testdb.Target
}

func openDatabase(t *testing.T, target testdb.Target) database {
	t.Helper()
	return database{target.Open(t), target}
}

// query writes the parameters of a query, given as "?", as the target wants them.
func (db database) query(query string) string {
	if db.target.Name != "postgres" {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(n), 1)
	}
	return query
}

func (db database) mustExec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), db.query(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// scanOne reads the only value of a query.
func (db database) scanOne(t *testing.T, target any, query string, args ...any) error {
	t.Helper()
	return db.QueryRowContext(t.Context(), db.query(query), args...).Scan(target)
}

// orderIDs has the limits, random IDs, and for each pair of Base 32 characters an ID in which they are adjacent:
// languages that sort a pair as one letter would misplace it.
func orderIDs() []snowflake.ID {
	ids := []snowflake.ID{0, 1, 31, 32, math.MaxInt64 - 1, math.MaxInt64}
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		ids = append(ids, snowflake.ID(random.Int64()>>random.IntN(63)))
	}
	for pair := range int64(1024) {
		ids = append(ids, snowflake.ID(pair<<40|random.Int64N(1<<40)))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// storeForOrder makes a table of IDs in all forms, in random order.
func storeForOrder(t *testing.T, db database) {
	t.Helper()
	db.mustExec(t, "CREATE TABLE ids (id bigint, as_text varchar(13), as_decimal varchar(20), as_uuid uuid)")
	ids := orderIDs()
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for chunk := range slices.Chunk(ids, 500) {
		var args []any
		for _, id := range chunk {
			args = append(args, id, sqltypes.Text(id), id.String(), uuidkey.ID(id))
		}
		rows := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?), ", len(chunk)), ", ")
		db.mustExec(t, "INSERT INTO ids VALUES "+rows, args...)
	}
}

// misordered returns how many rows follow a larger ID when they are sorted by the expression.
func misordered(t *testing.T, db database, by string) int {
	t.Helper()
	var n int
	query := "SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY " + by + ") AS previous FROM ids) AS s" +
		" WHERE previous > id"
	if err := db.scanOne(t, &n, query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// wantOrder checks which expressions sort as the IDs do. That others do not shows that the test can fail, and that what
// the comment of Text says of languages is right.
func wantOrder(t *testing.T, db database, sorted, others []string) {
	t.Helper()
	for _, by := range sorted {
		if n := misordered(t, db, by); n != 0 {
			t.Errorf("ORDER BY %s puts %d IDs out of order", by, n)
		}
	}
	for _, by := range others {
		if misordered(t, db, by) == 0 {
			t.Errorf("ORDER BY %s puts no ID out of order", by)
		}
	}
}

// collated returns a column with each of the collations.
func collated(column, collations string) (expressions []string) {
	for collation := range strings.FieldsSeq(collations) {
		expressions = append(expressions, column+` COLLATE "`+collation+`"`)
	}
	return expressions
}

func TestColumnsSortAsIDsInSQLite(t *testing.T) {
	db := openDatabase(t, testdb.SQLite(t))
	storeForOrder(t, db)
	wantOrder(t, db, []string{"as_text", "as_text COLLATE NOCASE", "as_text COLLATE RTRIM", "as_uuid"},
		[]string{"as_decimal"})
}

func TestColumnsSortAsIDsInPostgres(t *testing.T) {
	db := openDatabase(t, testdb.Postgres(t))
	storeForOrder(t, db)
	const collations = "C POSIX und-x-icu en-x-icu de-x-icu fr-x-icu es-x-icu it-x-icu pt-x-icu nl-x-icu pl-x-icu fi-x-icu " +
		"sv-x-icu tr-x-icu ru-x-icu uk-x-icu el-x-icu ar-x-icu hi-x-icu ja-x-icu ko-x-icu zh-x-icu"
	wantOrder(t, db, collated("as_text", collations), collated("as_decimal", collations))
	wantOrder(t, db, []string{"as_text", "as_uuid", `(as_text COLLATE "cs-x-icu") COLLATE "C"`},
		collated("as_text", "hr-x-icu cs-x-icu sk-x-icu da-x-icu nb-x-icu et-x-icu hu-x-icu lv-x-icu lt-x-icu"))
}

func TestColumnsSortAsIDsInMariaDB(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "the type uuid")
	db := openDatabase(t, target)
	storeForOrder(t, db)
	wantOrder(t, db, []string{
		"as_text", "as_text COLLATE utf8mb4_bin", "as_text COLLATE utf8mb4_general_ci", "as_text COLLATE utf8mb4_unicode_ci",
		"as_text COLLATE utf8mb4_uca1400_ai_ci", "as_text COLLATE utf8mb4_swedish_ci", "as_uuid",
		"CONVERT(as_text USING ascii) COLLATE ascii_bin", "CONVERT(as_text USING latin1) COLLATE latin1_swedish_ci",
		"CAST(as_uuid AS char(36))",
	}, []string{"as_decimal", "as_text COLLATE utf8mb4_czech_ci", "as_text COLLATE utf8mb4_estonian_ci"})
}
