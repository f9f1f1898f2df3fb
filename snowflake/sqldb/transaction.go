package sqldb

import "reflect"

// isTransaction reports whether db passes its statements to a transaction. What is stored in one may be rolled back
// after IDs were issued.
//
// A transaction has the methods Commit and Rollback, as *sql.Tx and what wraps one. The pool of gorm.io/sharding has
// them outside of transactions as well. It keeps what it wraps in an exported field ConnPool, as does every type that
// this looks into.
func isTransaction(db DB) bool {
	for {
		if _, ok := db.(interface {
			Commit() error
			Rollback() error
		}); !ok {
			return false
		}

		v := reflect.Indirect(reflect.ValueOf(db))
		if v.Kind() != reflect.Struct {
			return true
		}

		field, ok := v.Type().FieldByName("ConnPool")
		if !ok || len(field.Index) > 1 {
			return true
		}

		if db, ok = reflect.TypeAssert[DB](v.FieldByIndex(field.Index)); !ok {
			return true
		}
	}
}
