package sqltypes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// A schema that insists on UUIDs: customers have random ones or, since they come from us, those of IDs; our orders refer to
// both kinds, and others refer to our orders.
func TestUUIDJoinsASchemaOfUUIDs(t *testing.T) {
	columns := map[string][]string{"sqlite": {"text", "uuid"}, "postgres": {"uuid"}, "mariadb": {"uuid", "char(36)"}}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for _, column := range columns[target.Name] {
			t.Run(strings.Trim(column, "()36"), func(t *testing.T) { testUUIDSchema(t, openDatabase(t, target), column) })
		}
	})
}

func testUUIDSchema(t *testing.T, db database, column string) {
	t.Helper()
	for _, table := range []string{"invoices", "orders", "customers"} {
		db.mustExec(t, "DROP TABLE IF EXISTS "+table) // of another column type
	}
	db.mustExec(t, "CREATE TABLE customers (id "+column+" PRIMARY KEY, name varchar(20))")
	db.mustExec(t, "CREATE TABLE orders (id "+column+" PRIMARY KEY, customer_id "+column+
		" NOT NULL, FOREIGN KEY (customer_id) REFERENCES customers (id))")
	db.mustExec(t, "CREATE TABLE invoices (id "+column+" PRIMARY KEY, order_id "+column+
		" NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id))")

	theirs := uuid.New()
	ours := sqltypes.UUID(175928847299117063)
	db.mustExec(t, "INSERT INTO customers VALUES (?, ?)", theirs, "theirs")
	db.mustExec(t, "INSERT INTO customers VALUES (?, ?)", ours, "ours")
	orders := []sqltypes.UUID{175928847303311367, 175928847303311368, 175928847303311376} // one in each place of the UUID
	db.mustExec(t, "INSERT INTO orders VALUES (?, ?)", orders[1], ours)
	db.mustExec(t, "INSERT INTO orders VALUES (?, ?)", orders[2], theirs)
	db.mustExec(t, "INSERT INTO orders VALUES (?, ?)", orders[0], ours)
	db.mustExec(t, "INSERT INTO invoices VALUES (?, ?)", uuid.New(), orders[2])
	db.mustExec(t, "INSERT INTO invoices VALUES (?, ?)", uuid.New(), orders[0].UUID())

	nobody := sqltypes.UUID(9)
	if _, err := db.ExecContext(t.Context(), db.query("INSERT INTO orders VALUES (?, ?)"), nobody, nobody); err == nil {
		t.Error("an order of nobody was stored: there is no foreign key")
	}

	rows, err := db.QueryContext(t.Context(), `SELECT orders.id, customers.id, customers.name, invoices.id FROM orders
		JOIN customers ON customers.id = orders.customer_id
		LEFT JOIN invoices ON invoices.order_id = orders.id ORDER BY orders.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []sqltypes.UUID
	for rows.Next() {
		var order sqltypes.UUID
		var customer uuid.UUID
		var invoice *uuid.UUID
		var name string
		if err := rows.Scan(&order, &customer, &name, &invoice); err != nil {
			t.Fatal(err)
		}
		got = append(got, order)
		switch id, err := sqltypes.UUIDFrom(customer); {
		case name == "ours" && (id != ours || err != nil), name == "theirs" && !errors.Is(err, sqltypes.ErrForeignUUID):
			t.Errorf("customer %s of %d is %s: %d, %v", name, order, customer, id, err)
		}
		if (invoice == nil) != (order == orders[1]) {
			t.Errorf("invoice of %d: %v", order, invoice)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, orders) {
		t.Errorf("orders %v, want %v", got, orders)
	}
}
