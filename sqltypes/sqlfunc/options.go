package sqlfunc

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	// ErrOption means that an option is nil or has an invalid value.
	ErrOption = errors.New("sqlfunc: invalid option")

	// ErrDialect means that there is no SQL for a dialect.
	ErrDialect = errors.New("sqlfunc: unsupported dialect")
)

const (
	defaultLead = snowflake.MaxLead // Layout.Validate tolerates it
	maxLead     = 24 * time.Hour

	defaultName   = "snowflake"
	defaultSchema = "public"

	maxIdentifier = 63 // bytes, in PostgreSQL; MariaDB has 64
	maxName       = 48 // leaves room for suffixes
)

// Option is a setting for New.
type Option interface{ apply(*config) error }

type config struct {
	*Functions
	pinned map[string]int64
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithWorker adds the function that issues IDs with this worker, 0 to the layout's MaxWorker. No generator in Go may
// ever have the worker: keep leases away from it with lease.WithWorkers or with [WithLeaseTable]. For a layout without
// a worker field it is 0.
func WithWorker(worker int64) Option {
	return optionFunc(func(c *config) error {
		c.next, c.worker = true, worker
		return nil
	})
}

// WithField sets the value of another field than time, sequence and worker in the IDs that are issued. Fields that are
// not set are 0.
func WithField(name string, value int64) Option {
	return optionFunc(func(c *config) error {
		if _, twice := c.pinned[name]; twice {
			return fmt.Errorf("%w: field %s given twice", ErrOption, quoteShort(name))
		}
		if c.pinned == nil {
			c.pinned = make(map[string]int64)
		}
		c.pinned[name] = value
		return nil
	})
}

// identifier matches names that need no quotes in any database.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// WithName sets the start of the names of the functions, for two layouts in one database: "orders" makes orders_time
// and so on. The default is "snowflake". A name has 1 to 48 bytes, lower-case letters (a to z), digits and underscores,
// and does not start with a digit.
func WithName(name string) Option {
	return optionFunc(func(c *config) error {
		if len(name) > maxName || !identifier.MatchString(name) {
			return fmt.Errorf("%w: the name %s, want 1 to %d lower-case letters (a to z), digits and underscores, "+
				"not starting with a digit", ErrOption, quoteShort(name), maxName)
		}
		c.name = name
		return nil
	})
}

// WithSchema sets the schema of the functions in PostgreSQL, which must exist; the default is "public". It is quoted,
// so its case matters, and has 1 to 63 bytes without a NUL. In MariaDB the functions are in the connection's database.
func WithSchema(schema string) Option {
	return optionFunc(func(c *config) error {
		if err := checkIdentifier("schema", schema); err != nil {
			return err
		}
		c.schema = schema
		return nil
	})
}

// WithLead sets how far the time in an issued ID may be ahead of the server's clock, from 0 to 24 hours, in whole
// ticks. The default is [snowflake.MaxLead], 10 seconds.
//
// The time in the IDs is ahead when more rows are inserted than the layout has numbers for, and when the clock is set
// back. Beyond the lead an insert waits if the wait is at most a second, and fails otherwise.
func WithLead(lead time.Duration) Option {
	return optionFunc(func(c *config) error {
		if lead < 0 || lead > maxLead {
			return fmt.Errorf("%w: lead %v out of range [0, %v]", ErrOption, lead, maxLead)
		}
		c.lead = lead
		return nil
	})
}

// withClock replaces the server's clock by an SQL expression.
func withClock(expression string) Option {
	return optionFunc(func(c *config) error {
		c.clock = expression
		return nil
	})
}

// stamp computes the bits that all issued IDs have in common.
func (c *config) stamp() error {
	workerField := c.layout.WorkerField()
	for name, value := range c.pinned {
		at := c.place(name)
		switch {
		case at.bits == 0:
			return fmt.Errorf("%w: %s is not among the fields of %s", snowflake.ErrUnknownField, quoteShort(name), c.layout)
		case name == workerField || name == snowflake.FieldTime || name == snowflake.FieldSequence:
			return fmt.Errorf("%w: field %q is not for WithField", snowflake.ErrOption, name)
		}
		if err := c.put(at, value); err != nil {
			return err
		}
	}
	if !c.next {
		if c.leases != nil {
			return fmt.Errorf("%w: WithLeaseTable without WithWorker", ErrOption)
		}
		return nil
	}
	at := c.place(workerField)
	at.name = "worker"
	if workerField != "" {
		at.name = workerField
	}
	return c.put(at, c.worker)
}

func (c *config) put(at place, value int64) error {
	if value < 0 || value > at.max() {
		return fmt.Errorf("%w: %s %d is not in [0, %d]", snowflake.ErrFieldRange, at.name, value, at.max())
	}
	c.fixed |= value << at.shift
	return nil
}

// quoteShort quotes a name for a message and cuts it.
func quoteShort(name string) string { return fmt.Sprintf("%.40q", name) }
