package snowflake

import "fmt"

// New returns a generator for the worker. The worker comes first and can't be
// left out because 0 is as good a worker as any other: its range is [0,
// MaxWorker()] of the layout, which is Default() unless WithLayout says
// otherwise. No two processes may run with the same worker at the same time.
//
// New returns a *FieldError (ErrFieldRange) for a worker or a pinned value
// outside its field, ErrUnknownField and ErrFieldOwned for a field that can't be
// pinned, ErrLayout for the zero Layout, ErrOption for other bad options, and
// ErrBeforeEpoch or ErrTimeExhausted when the clock is outside the layout's
// time, of which a generator can use the first 292 years.
func New(worker int64, opts ...Option) (*Generator, error) {
	g, cfg, err := build(opts)
	if err != nil {
		return nil, err
	}
	l := cfg.layout
	if err := checkField(l.workerLabel(), worker, l.worker); err != nil {
		return nil, err
	}
	if g.core, err = coreFor(l, worker, cfg.clock, g.lead); err != nil {
		return nil, err
	}
	return g, nil
}

// build returns a generator with the options, but without a core.
func build(opts []Option) (*Generator, config, error) {
	cfg := config{layout: Default(), lead: DefaultLead}
	for _, opt := range opts {
		if opt == nil {
			return nil, cfg, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt.apply(&cfg); err != nil {
			return nil, cfg, err
		}
	}
	l := cfg.layout
	g := &Generator{
		layout:    l,
		timeShift: l.time.shift,
		seqShift:  l.sequence.shift,
	}
	for _, p := range cfg.pinned {
		if err := g.stamp(p.field, p.value); err != nil {
			return nil, cfg, err
		}
	}
	g.pinned = cfg.pinned
	g.lead = uint64(min(int64(cfg.lead/l.tick), l.time.max()))
	g.span = g.lead<<l.sequence.width | uint64(l.sequence.max())
	return g, cfg, nil
}
