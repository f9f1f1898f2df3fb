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
				return stepwise.State{Held: l.held, Retries: l.retries, Claim: l.claim, From: l.from}
			},
		}, nil
	}
}
