package sqltypes_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

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
func storeForOrder(t *testing.T, db database, uuidColumn, binaryColumn string) {
	t.Helper()
	db.mustExec(t, "CREATE TABLE ids (id bigint, as_text varchar(13), as_decimal varchar(20), as_binary "+
		binaryColumn+", as_uuid "+uuidColumn+")")
	ids := orderIDs()
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for chunk := range slices.Chunk(ids, 500) {
		var args []any
		for _, id := range chunk {
			args = append(args, id, sqltypes.Text(id), id.String(), sqltypes.Binary(id), sqltypes.UUID(id))
		}
		rows := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?), ", len(chunk)), ", ")
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

func TestStoredTypesSortAsIDsInSQLite(t *testing.T) {
	db := openDatabase(t, testdb.SQLite(t))
	storeForOrder(t, db, "uuid", "blob")
	for _, by := range []string{"as_text", "as_text COLLATE NOCASE", "as_text COLLATE RTRIM", "as_binary", "as_uuid"} {
		if n := misordered(t, db, by); n != 0 {
			t.Errorf("ORDER BY %s puts %d IDs out of order", by, n)
		}
	}
	if misordered(t, db, "as_decimal") == 0 {
		t.Error("decimal text sorts too: the test cannot fail")
	}
}

func TestStoredTypesSortAsIDsInPostgres(t *testing.T) {
	db := openDatabase(t, testdb.Postgres(t))
	storeForOrder(t, db, "uuid", "bytea")
	for _, by := range []string{"as_text", "as_binary", "as_uuid"} {
		if n := misordered(t, db, by); n != 0 {
			t.Errorf("ORDER BY %s puts %d IDs out of order", by, n)
		}
	}
	for _, collation := range []string{
		"C", "POSIX", "und-x-icu", "en-x-icu", "de-x-icu", "fr-x-icu", "es-x-icu", "it-x-icu", "pt-x-icu", "nl-x-icu",
		"pl-x-icu", "fi-x-icu", "sv-x-icu", "tr-x-icu", "ru-x-icu", "uk-x-icu", "el-x-icu", "ar-x-icu", "hi-x-icu", "ja-x-icu",
		"ko-x-icu", "zh-x-icu",
	} {
		if n := misordered(t, db, `as_text COLLATE "`+collation+`"`); n != 0 {
			t.Errorf("%s puts %d IDs out of order", collation, n)
		}
		if misordered(t, db, `as_decimal COLLATE "`+collation+`"`) == 0 {
			t.Errorf("%s sorts decimal text too: the test cannot fail", collation)
		}
	}
	// The comment of Text names these languages.
	for _, collation := range []string{
		"hr-x-icu", "cs-x-icu", "sk-x-icu", "da-x-icu", "nb-x-icu", "et-x-icu", "hu-x-icu", "lv-x-icu", "lt-x-icu",
	} {
		if misordered(t, db, `as_text COLLATE "`+collation+`"`) == 0 {
			t.Errorf("%s sorts Text: the documentation says that it does not", collation)
		}
	}
	if n := misordered(t, db, `(as_text COLLATE "cs-x-icu") COLLATE "C"`); n != 0 {
		t.Errorf("the documented remedy puts %d IDs out of order", n)
	}
}

func TestStoredTypesSortAsIDsInMariaDB(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "the type uuid")
	db := openDatabase(t, target)
	storeForOrder(t, db, "uuid", "binary(8)")
	for _, by := range []string{
		"as_text", "as_text COLLATE utf8mb4_bin", "as_text COLLATE utf8mb4_general_ci",
		"as_text COLLATE utf8mb4_unicode_ci",
		"as_text COLLATE utf8mb4_uca1400_ai_ci", "as_text COLLATE utf8mb4_swedish_ci", "as_binary", "as_uuid",
		"CONVERT(as_text USING ascii) COLLATE ascii_bin", "CONVERT(as_text USING latin1) COLLATE latin1_swedish_ci",
		"CAST(as_uuid AS char(36))",
	} {
		if n := misordered(t, db, by); n != 0 {
			t.Errorf("ORDER BY %s puts %d IDs out of order", by, n)
		}
	}
	for _, by := range []string{"as_decimal", "as_text COLLATE utf8mb4_czech_ci", "as_text COLLATE utf8mb4_estonian_ci"} {
		if misordered(t, db, by) == 0 {
			t.Errorf("ORDER BY %s puts no ID out of order: the test cannot fail, or the documentation is wrong", by)
		}
	}
}

// MariaDB's type uuid rejects UUIDs of version 8 whose ninth byte is 80, as it might be for one ID in 16.
func TestMariaDBTakesTheUUIDOfEveryID(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "the type uuid")
	db := openDatabase(t, target)
	db.mustExec(t, "CREATE TABLE ids (id uuid PRIMARY KEY)")
	ids := storedIDs()
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), 1000) {
		var args []any
		for _, id := range chunk {
			args = append(args, sqltypes.UUID(id))
		}
		db.mustExec(t, "INSERT INTO ids VALUES "+strings.TrimSuffix(strings.Repeat("(?), ", len(chunk)), ", "), args...)
	}
}
