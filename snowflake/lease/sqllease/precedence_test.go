package sqllease

import (
	"reflect"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestOperatorsWithASchemaHaveTheParenthesesThatTheyNeed(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	store, err := New(db, sqldb.Postgres)
	if err == nil {
		err = store.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}

	queries := reflect.ValueOf(newQueries(postgres, store.table, postgresIdentity))
	checked := 0
	for i := range queries.NumField() {
		if query := queries.Field(i); query.Kind() == reflect.String {
			testdb.CheckPrecedence(t, db, query.String())
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("%d statements", checked)
	}
}
