package processtest

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) { KilledProcesses(t, p.String(), p.store(t), NothingElse) })
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		ProcessesStartedTogether(t, p.String(), func() leasestore.Store { return p.store(t) })
	})
}
