package sqlfunc_test

import (
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// An iteration is a row of an INSERT ... SELECT.
func BenchmarkMariaDBInsert(b *testing.B) {
	for _, bench := range []struct{ name, column, values string }{
		{"AutoIncrement", "BIGINT NOT NULL AUTO_INCREMENT", "NULL"},
		{"UUID", "UUID NOT NULL", "UUID()"},
		{"Next", "BIGINT NOT NULL", "snowflake_next()"},
		{"Trigger", "BIGINT NOT NULL DEFAULT 0", "0"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			db := openMariaDB(b)
			f := db.installMariaDB(b, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLead(sqlfunc.MaxLead))
			db.exec(b, "CREATE TABLE t (id "+bench.column+" PRIMARY KEY, n INT) ENGINE=InnoDB")
			if bench.name == "Trigger" {
				trigger, err := f.MariaDBTrigger("t", "id")
				if err != nil {
					b.Fatal(err)
				}
				db.exec(b, trigger)
			}
			b.ResetTimer()
			db.exec(b, fmt.Sprintf("INSERT INTO t SELECT %s, seq FROM seq_1_to_%d", bench.values, b.N))
		})
	}
}
