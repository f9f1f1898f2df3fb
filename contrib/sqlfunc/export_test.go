package sqlfunc

// MaxLead is the largest lead.
const MaxLead = maxLead

// WithClock replaces the server's clock.
func WithClock(expression string) Option {
	return func(f *Functions) error {
		f.clock = expression
		return nil
	}
}
