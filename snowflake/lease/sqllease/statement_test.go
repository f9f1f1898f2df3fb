package sqllease

import (
	"database/sql"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Each statement is one that its database takes, and on PostgreSQL means the same with and without schemas of operators.
func TestEachStatementIsPreparedOnItsDatabase(t *testing.T) {
	dialects := map[string]sqldb.Dialect{"sqlite": sqldb.SQLite, "postgres": sqldb.Postgres, "mariadb": sqldb.MySQL}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		store, err := New(db, dialects[target.Name])
		if err == nil {
			err = store.Migrate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}

		server := store.server.Load()
		texts := reflect.ValueOf(server.texts)
		for i := range texts.NumField() {
			name, text := texts.Type().Field(i).Name, texts.Field(i).String()
			st := server.prepare(text)
			if err := prepare(t, db, st.text); err != nil {
				t.Errorf("%s: %v\n%s", name, err, st.text)
			}
			if target.Name == "postgres" && !strings.HasPrefix(name, "create") {
				testdb.CheckPrecedence(t, db, st.text)
			}
		}
	})
}

func prepare(t *testing.T, db *sql.DB, text string) error {
	t.Helper()
	prepared, err := db.PrepareContext(t.Context(), text)
	if err != nil {
		return err
	}
	defer func() { _ = prepared.Close() }()
	return nil
}

// The numbers in the statements are those of package lease.
func TestTheStatementsHaveTheBoundsOfTheProtocol(t *testing.T) {
	skew := lease.DefaultMaxSkew.Milliseconds()
	allowed := map[string]bool{
		strconv.FormatInt(skew, 10): true, strconv.FormatInt(skew+1, 10): true,
		strconv.FormatInt(time.Hour.Milliseconds(), 10): true, // until a greater reach counts
		"86400000": true, "2440587": true, // a day, and that of 1970, of SQLite's clock
	}

	for dialect, texts := range textsOf {
		texts := reflect.ValueOf(texts)
		for i := range texts.NumField() {
			for _, number := range regexp.MustCompile(`\b[1-9]\d{4,10}\b`).FindAllString(texts.Field(i).String(), -1) {
				if !allowed[number] {
					t.Errorf("%s of %s: %s", texts.Type().Field(i).Name, dialect, number)
				}
			}
		}
	}
}
