package gormplugin_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// column is what a database says of a column.
type column struct {
	Type  string // in lower case, without a width
	Made  bool   // by a sequence, AUTO_INCREMENT or a default
	InKey bool   // part of the primary key
}

// column asks the database itself, not GORM's migrator.
func (e *env) column(t *testing.T, table, name string) column {
	t.Helper()
	var c column
	var query string
	args := []any{table, name}
	switch e.target.Name {
	case "sqlite":
		query = `SELECT type, dflt_value IS NOT NULL OR
			(SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = ?), pk > 0
			FROM pragma_table_info(?) WHERE name = ?`
		args = []any{table, table, name}
	case "postgres":
		query = `SELECT c.data_type, c.column_default IS NOT NULL OR c.is_identity = 'YES', EXISTS (
			SELECT FROM information_schema.key_column_usage k
			JOIN information_schema.table_constraints p USING (constraint_schema, constraint_name)
			WHERE p.constraint_type = 'PRIMARY KEY' AND k.table_schema = c.table_schema
			AND k.table_name = c.table_name AND k.column_name = c.column_name)
			FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name = ? AND c.column_name = ?`
	case "mariadb":
		query = `SELECT data_type, extra <> '' OR column_default IS NOT NULL AND column_default <> 'NULL', column_key = 'PRI'
			FROM information_schema.columns WHERE table_schema = database() AND table_name = ? AND column_name = ?`
	}
	row := e.Raw(query, args...).Row()
	if err := row.Scan(&c.Type, &c.Made, &c.InKey); err != nil {
		t.Fatalf("column %s of %s: %v", name, table, err)
	}
	c.Type = strings.ToLower(c.Type)
	return c
}

// integerOn returns the type of a column with the tag type:int.
func (e *env) integerOn() string {
	if e.target.Name == "sqlite" {
		return "integer"
	}
	return "bigint"
}

func TestKeyColumnsAreIntegersThatTheDatabaseDoesNotMake(t *testing.T) {
	type untagged struct {
		ID   snowflake.ID
		Name string
	}
	type tagged struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string
	}
	type pointed struct {
		ID *snowflake.ID `gorm:"primaryKey;type:int"`
	}
	type modelled struct{ gormplugin.Model }
	type soft struct{ gormplugin.ModelSoftDelete }
	type composed struct {
		TenantID snowflake.ID `gorm:"primaryKey"`
		ID       snowflake.ID `gorm:"primaryKey"`
	}
	type owned struct {
		ID userID `gorm:"primaryKey"`
	}
	each(t, func(t *testing.T, db *env) {
		key := column{Type: "bigint", InKey: true}
		equal(t, "without a tag", db.column(t, "untaggeds", "id"), key)
		equal(t, "tenant of a composite key", db.column(t, "composeds", "tenant_id"), key)
		equal(t, "ID of a composite key", db.column(t, "composeds", "id"), key)
		equal(t, "type of its own", db.column(t, "owneds", "id"), key)
		key.Type = db.integerOn()
		equal(t, "type:int", db.column(t, "taggeds", "id"), key)
		equal(t, "*ID with type:int", db.column(t, "pointeds", "id"), key)
		equal(t, "Model", db.column(t, "modelleds", "id"), key)
		equal(t, "ModelSoftDelete", db.column(t, "softs", "id"), key)
		equal(t, "deleted_at in the key", db.column(t, "softs", "deleted_at").InKey, false)
	}, &untagged{}, &tagged{}, &pointed{}, &modelled{}, &soft{}, &composed{}, &owned{})
}

func TestForeignKeysAndJoinColumnsHaveTheTypeOfTheKey(t *testing.T) {
	type remark struct {
		ID     snowflake.ID
		UserID *snowflake.ID
		User   *user
		ItemID snowflake.ID
		Item   *item
		Tags   []tag `gorm:"many2many:remark_tags"`
	}
	each(t, func(t *testing.T, db *env) {
		for _, c := range []struct {
			table, name, kind string
			inKey             bool
		}{
			{"remarks", "id", "bigint", true},
			{"remarks", "user_id", db.integerOn(), false},
			{"remarks", "item_id", db.integerOn(), false},
			{"remark_tags", "remark_id", "bigint", true},
			{"remark_tags", "tag_id", db.integerOn(), true},
			{"toys", "owner_id", db.integerOn(), false}, // polymorphic
		} {
			equal(t, c.table+"."+c.name, db.column(t, c.table, c.name), column{Type: c.kind, InKey: c.inKey})
		}
		must(t, db.Create(&remark{Item: &item{Name: "a"}})) // a foreign key may be NULL
		equal(t, "rows without a user", db.count(t, "remarks", "user_id IS NULL"), 1)
	}, append(people(), &user{}, &item{}, &remark{})...)
}
