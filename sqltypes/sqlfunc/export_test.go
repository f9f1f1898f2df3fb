package sqlfunc

// WithClock is for tests that own the time of the server.
func WithClock(expression string) Option { return withClock(expression) }
