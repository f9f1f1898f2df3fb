package gormtest

import (
	"fmt"
	"maps"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Option changes what [New] returns. Options are made by the functions of this package only.
type Option interface{ apply(g *Generator) }

type optionFunc func(g *Generator)

func (f optionFunc) apply(g *Generator) { f(g) }

// WithLayout makes IDs of the layout l instead of snowflake.Default().
func WithLayout(l snowflake.Layout) Option {
	return optionFunc(func(g *Generator) { g.layout = l })
}

// WithStep makes each ID d later than the one before, instead of one tick. IDs of one tick differ in their sequence; when
// that is used up, the next tick follows. With 0 all IDs are of one time as far as there is room. A negative d is
// snowflake.ErrOption.
func WithStep(d time.Duration) Option {
	return optionFunc(func(g *Generator) {
		if d < 0 {
			g.err = fmt.Errorf("%w: the step is %v, want 0 or more", snowflake.ErrOption, d)
		}
		g.step = d
	})
}

// WithWorker sets the worker of all IDs, which is 0 without it.
func WithWorker(worker int64) Option {
	return optionFunc(func(g *Generator) { g.parts.Worker = worker })
}

// WithField sets another field of all IDs, which is 0 without it. It may be given several times.
func WithField(name string, value int64) Option {
	return optionFunc(func(g *Generator) {
		fields := maps.Clone(g.parts.Fields)
		if fields == nil {
			fields = make(map[string]int64)
		}
		fields[name] = value
		g.parts.Fields = fields
	})
}
