package sqltypes_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// pgx by itself hands over other values than through database/sql, and has no way from an ID to text, bytea or uuid.
func TestStoredTypesRoundTripThroughNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := conn.Exec(t.Context(), query, args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		exec("CREATE TABLE keys (as_char char(13), as_varchar varchar(13), as_text text, as_bytea bytea, as_uuid uuid)")
		const where = " WHERE as_text = $1 AND as_bytea = $2 AND as_uuid = $3"
		for _, id := range databaseIDs {
			text, binary, u := sqltypes.Text(id), sqltypes.Binary(id), sqltypes.UUID(id)
			exec("INSERT INTO keys VALUES ($1, $2, $3, $4, $5)", text, text, text, binary, u)
			var char, varchar, gotText sqltypes.Text
			var gotBinary sqltypes.Binary
			var gotUUID sqltypes.UUID
			err := conn.QueryRow(t.Context(), "SELECT * FROM keys"+where, text, binary, u).
				Scan(&char, &varchar, &gotText, &gotBinary, &gotUUID)
			if err != nil || char != text || varchar != text || gotText != text || gotBinary != binary || gotUUID != u {
				t.Errorf("%d was read back as %d, %d, %d, %d, %d, %v", id, char, varchar, gotText, gotBinary, gotUUID, err)
			}
		}
		exec("INSERT INTO keys (as_text, as_bytea, as_uuid) VALUES ($1, $2, $3)",
			(*sqltypes.Text)(nil), (*sqltypes.Binary)(nil), (*sqltypes.UUID)(nil))
		text, binary, u := sqltypes.Text(42), sqltypes.Binary(42), sqltypes.UUID(42)
		for column, target := range map[string]any{"as_text": &text, "as_bytea": &binary, "as_uuid": &u} {
			err := conn.QueryRow(t.Context(), "SELECT "+column+" FROM keys WHERE as_char IS NULL").Scan(target)
			if !errors.Is(err, snowflake.ErrNull) {
				t.Errorf("NULL of %s: %v", column, err)
			}
		}
		if text != 0 || binary != 0 || u != 0 {
			t.Errorf("NULL left %d, %d, %d", text, binary, u)
		}
		u = 42
		err := conn.QueryRow(t.Context(), "SELECT $1::uuid", uuid.NewString()).Scan(&u)
		if !errors.Is(err, sqltypes.ErrForeignUUID) || u != 0 {
			t.Errorf("a random UUID was read as %d, %v", u, err)
		}
		n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"keys"}, []string{"as_text", "as_bytea", "as_uuid"},
			pgx.CopyFromRows([][]any{{sqltypes.Text(7), sqltypes.Binary(7), sqltypes.UUID(7)}, {nil, nil, nil}}))
		if n != 2 || err != nil {
			t.Errorf("CopyFrom: %d, %v", n, err)
		}
		err = conn.QueryRow(t.Context(), "SELECT count(*) FROM keys"+where,
			sqltypes.Text(7), sqltypes.Binary(7), sqltypes.UUID(7)).Scan(&n)
		if n != 1 || err != nil {
			t.Errorf("%d rows, %v, want the one of CopyFrom", n, err)
		}
	})
}
