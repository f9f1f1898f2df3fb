package adopt_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/adopt"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Whoever may create objects in a schema of the search_path can make such traps.
func TestDropAutoIncrementRunsNoCodeOfAStranger(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		for _, statement := range []string{
			"CREATE TABLE old_groups (id serial PRIMARY KEY, name text CHECK (length(name) > id % 7))",
			"CREATE TABLE refers (group_id int REFERENCES old_groups)",
			"CREATE TABLE old_lines (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
			"INSERT INTO old_groups (name) VALUES ('abc')",
		} {
			_, err := victim.Safe.Exec(statement)
			must(t, err)
		}
		db := single(t, testdb.Target{Name: "postgres", Driver: "pgx", DSN: victim.DSN})
		gen, err := snowflake.New(0)
		must(t, err)
		must(t, db.Use(gormplugin.New(gen, gormplugin.WithMinID(2))))

		var before, after string
		must(t, db.Transaction(func(tx *gorm.DB) error {
			must(t, tx.Raw("SHOW search_path").Row().Scan(&before))
			must(t, adopt.DropAutoIncrement(tx, &oldGroup{}, &oldLine{}))
			must(t, tx.Raw("SHOW search_path").Row().Scan(&after))
			return nil
		}))
		equal(t, "search_path in the transaction", after, before)
		var narrow, sequences int
		must(t, victim.Safe.QueryRow(`SELECT count(*) FILTER (WHERE data_type = 'integer'),
			(SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace)
			FROM information_schema.columns WHERE table_schema = current_schema()`).Scan(&narrow, &sequences))
		equal(t, "narrow columns and sequences", narrow+sequences, 0)
	})
}

// GORM would take the dot for one between a schema and a table.
func TestDropAutoIncrementFindsATableOfASchemaWithADot(t *testing.T) {
	db := single(t, testdb.Postgres(t))
	space := `"` + db.schema(t) + `.own"`
	t.Cleanup(func() {
		_, err := db.target.Open(t).Exec("DROP SCHEMA " + space + " CASCADE")
		must(t, err)
	})
	db.exec(t, "CREATE SCHEMA "+space, "SET search_path = "+space,
		"CREATE TABLE old_groups (id serial PRIMARY KEY, name text)", "INSERT INTO old_groups (name) VALUES ('a')")
	db.drop(t, &oldGroup{})
	db.wantRefused(t, "old_groups", "name", "'x'")
}
