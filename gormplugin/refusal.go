package gormplugin

import (
	"database/sql/driver"

	"gorm.io/gorm/clause"
)

// fail makes the statement that is being built fail with err instead of being executed. If it is a subquery, GORM builds
// it on a handle of its own and drops that handle's error, so that the outer statement would run with a condition less.
// Hence the second guard: an argument that cannot be sent.
func fail(builder clause.Builder, err error) {
	_ = builder.AddError(err)
	builder.AddVar(builder, unsendable{err})
}

// unsendable is an argument that database/sql and the drivers refuse with its error.
type unsendable struct{ err error }

func (u unsendable) Value() (driver.Value, error) { return nil, u.err }

// failure is the expression that makes a statement fail.
type failure struct{ err error }

func (f failure) Build(builder clause.Builder) { fail(builder, f.err) }

// write writes to a statement in memory, which never fails.
func write(builder clause.Builder, s string) { _, _ = builder.WriteString(s) }
