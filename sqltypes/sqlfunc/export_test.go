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

// Names returns the names of the functions that every database has, without a schema.
func (f *Functions) Names() []string {
	names := []string{f.called("layout"), f.called("time"), f.called("parts")}
	if f.ordered() {
		names = append(names, f.called("min"))
	}
	if f.next {
		names = append(names, f.called("next"))
	}
	return names
}
