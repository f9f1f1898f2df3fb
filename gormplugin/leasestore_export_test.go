package gormplugin

import "time"

// WithReady replaces the Ready of the lease.
func WithReady(ready func() error) Option {
	return func(c *config) error {
		c.ready = ready
		return nil
	}
}

// WithOpenTimeout bounds what Open does before it takes a worker.
func WithOpenTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.openTimeout = d
		return nil
	}
}
