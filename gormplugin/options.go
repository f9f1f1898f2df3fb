package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Generator makes IDs. *snowflake.Generator is one.
type Generator interface {
	// Fill sets every element of dst to a new ID, in the order of issue, or returns an error and leaves dst as it was.
	// It ends any wait when ctx, the context of the statement, is done. It must be safe for concurrent use.
	Fill(ctx context.Context, dst []snowflake.ID) error
}

// layouter is a [Generator] that knows the layout of its IDs.
type layouter interface{ Layout() snowflake.Layout }

// Option changes what [New] and [Open] return. The functions of this package are the only way to make one.
type Option func(*config) error

// config is what the options set. It never changes afterwards.
type config struct {
	rules model.Rules
	minID snowflake.ID // of WithMinID

	leaseOptions []lease.Option // of WithLease
	leaseTables  string         // of WithLeaseTables
	openTimeout  time.Duration  // of what Open does before it takes a worker
	ready        func() error   // lease.Lease.Ready of the lease of Open; nil for New
}

// newConfig returns what the options set, and the errors of all of them.
func newConfig(gen Generator, opts []Option) (*config, error) {
	c := &config{rules: model.Rules{Default: gen}, openTimeout: lease.DefaultWindow}
	var errs []error
	for i, opt := range opts {
		if opt == nil {
			errs = append(errs, fmt.Errorf("%w: option %d is nil", ErrOption, i))
			continue
		}
		errs = append(errs, opt(c))
	}
	return c, errors.Join(errs...)
}

// WithIntegerKeys also fills keys of the types int64, uint64, int and uint without a snowflake tag, such as the key of
// gorm.Model. The database still makes those with an autoIncrement or default tag, or `gorm:"snowflake:-"`, and on
// 32-bit platforms int and uint, which are too small. GORM treats such keys as auto-increment: see
// [DisableAutoIncrement].
func WithIntegerKeys() Option {
	return func(c *config) error {
		c.rules.IntegerKeys = true
		return nil
	}
}

// WithMinID says that all IDs are minID or more. Smaller keys are those that the database made before the table was
// moved to IDs, and no [Created] finds them. Without it they count as created in the first ticks of the layout: a
// deletion of the rows [CreatedBefore] a time deletes all of them.
//
// Any number above the old keys of all tables and below all IDs will do: the greatest old key plus 1, or many times
// that while old processes still insert rows. adopt.DropAutoIncrement checks it. A negative minID, or one above the IDs
// of a generator, is an [ErrOption]. The bound also holds for conditions with [Created.In] and another layout.
func WithMinID(minID snowflake.ID) Option {
	return func(c *config) error {
		if minID < 0 {
			return fmt.Errorf("%w: WithMinID: %d is negative", ErrOption, minID)
		}
		c.minID = minID
		return nil
	}
}

// checkMinID returns an error if a generator makes IDs below the bound of WithMinID.
func (c *config) checkMinID() error {
	check := func(what string, gen Generator) error {
		l, ok := gen.(layouter)
		if c.minID == 0 || !ok {
			return nil
		}

		ranges, _, _, err := l.Layout().MaskedRanges(time.Now(), l.Layout().End())
		if err == nil && ranges[0].Lo < c.minID {
			return fmt.Errorf("%w: WithMinID: %d is above the IDs that %s makes now, from %d on",
				ErrOption, c.minID, what, ranges[0].Lo)
		}
		return nil
	}
	errs := []error{check("the generator", c.rules.Default)}
	for name, gen := range c.rules.Named {
		errs = append(errs, check(fmt.Sprintf("the generator %q", name), gen))
	}
	return errors.Join(errs...)
}

// WithNamed adds a generator for the fields with the tag `gorm:"snowflake:gen=name"`. The name is case-sensitive. It is
// an [ErrOption] if name is empty, used twice, or cannot be written in a tag, as with a comma, and if gen is nil. The
// example Resources has one generator for each resource type.
func WithNamed(name string, gen Generator) Option {
	return func(c *config) error {
		switch {
		case name == "":
			return fmt.Errorf("%w: WithNamed: empty name", ErrOption)
		case strings.ContainsAny(name, ",;\"\\`"), strings.TrimSpace(name) != name:
			return fmt.Errorf("%w: WithNamed: the name %q cannot be written in a tag", ErrOption, name)
		case isNil(gen):
			return fmt.Errorf("%w: WithNamed: nil generator for the name %q", ErrOption, name)
		case c.rules.Named[name] != nil:
			return fmt.Errorf("%w: WithNamed: the name %q is used twice", ErrOption, name)
		case c.rules.Named == nil:
			c.rules.Named = make(map[string]model.Generator)
		}

		c.rules.Named[name] = gen
		return nil
	}
}

// WithLayout sets the layout of the IDs of [Open], snowflake.Default by default. All processes that write to the tables
// need the same one: Open returns lease.ErrLayout for another in the same namespace. [New] does not take it
// ([ErrOption]): its generator has a layout.
func WithLayout(l snowflake.Layout) Option {
	return WithLease(lease.WithLayout(l))
}

// WithLease sets options of the lease that [Open] takes: its namespace, the workers, the window, and so on.
//
//	gormplugin.WithLease(lease.WithNamespace("billing"), lease.WithWorkers(16, 31))
//
// If it is repeated, the last setting counts. [New] does not take it ([ErrOption]).
func WithLease(opts ...lease.Option) Option {
	return func(c *config) error {
		c.leaseOptions = append(c.leaseOptions, opts...)
		return nil
	}
}

// WithLeaseTables sets the prefix of the names of the two lease tables of [Open], with or without a schema, instead of
// snowflake_: "app.snowflake_" names app.snowflake_namespaces and app.snowflake_leases. All processes whose IDs must
// differ have to use the same tables. An empty prefix is an [ErrOption], as is the option for [New].
func WithLeaseTables(prefix string) Option {
	return func(c *config) error {
		if prefix == "" {
			return fmt.Errorf("%w: WithLeaseTables: empty prefix", ErrOption)
		}
		c.leaseTables = prefix
		return nil
	}
}

// isNil reports whether gen is nil or an interface around a nil pointer.
func isNil(gen Generator) bool {
	v := reflect.ValueOf(gen)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func:
		return v.IsNil()
	}
	return false
}
