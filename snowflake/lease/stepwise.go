package lease

import "github.com/sqlflake/sqlflake/snowflake/lease/internal/stepwise"

func init() {
	stepwise.New = func(store, options any) (any, stepwise.Controls, error) {
		l, err := prepare(store.(Store), options.([]Option))
		if err != nil {
			return nil, stepwise.Controls{}, err
		}
		l.stop, l.done = func() {}, make(chan struct{})
		close(l.done)
		return l, stepwise.Controls{
			Step: l.step, Fail: l.lessee.Fail, GiveUp: l.giveUp, Lessee: l.lessee,
			State: func() stepwise.State {
				return stepwise.State{
					Held: l.held, Retries: l.retries, Claim: l.claim, From: l.from, Asked: max(l.asked, l.horizon),
				}
			},
			Copy: func(of any, next int64) error { return l.become(of.(*Lease), next) },
		}, nil
	}
}

// become is Controls.Copy.
func (l *Lease) become(of *Lease, next int64) error {
	l.claim, l.held, l.token, l.unsure, l.previous = of.claim, of.held, of.token, of.unsure, of.previous
	l.from, l.horizon, l.asked, l.skew = of.from, of.horizon, of.asked, of.skew
	l.since, l.short = of.since, of.short
	l.retries, l.denied, l.lastErr = of.retries, of.denied, of.lastErr
	l.status, l.seen = of.status, of.seen
	if !l.held {
		return nil
	}
	return l.lessee.Move(l.claim.Worker, max(l.from, next), l.horizon)
}
