package sqlfunc

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// MaxLead is a lead that no test reaches.
const MaxLead = 24 * time.Hour

// WithClock replaces the server's clock.
func WithClock(expression string) Option {
	return func(f *Functions) error {
		f.clock = expression
		return nil
	}
}

// WithLead replaces the lead.
func WithLead(lead time.Duration) Option {
	return func(f *Functions) error {
		f.lead = lead
		return nil
	}
}

// Statements are what Install runs.
func (f *Functions) Statements(dialect sqldb.Dialect) ([]string, error) {
	create, _, err := f.statements(dialect)
	return create, err
}
