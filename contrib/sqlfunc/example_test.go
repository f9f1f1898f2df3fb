package sqlfunc_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The script for a migration. It may be run again.
func ExampleFunctions_Script() {
	functions, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1023)) // reserved for the server
	if err != nil {
		log.Fatal(err)
	}
	script, err := functions.Script(sqldb.Postgres)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(script, "CREATE OR REPLACE FUNCTION"))
	// Then, in the database:
	//
	//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), note text);
	//	INSERT INTO orders (note) VALUES ('by hand');
	//	SELECT o.*, p.time, p.worker FROM orders AS o, snowflake_parts(o.id) AS p;
	//	SELECT * FROM orders WHERE id >= snowflake_min(now() - interval '1 day');

	// Output: 5
}
