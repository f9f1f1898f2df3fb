package redislease_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	place, store := newPlace(t)
	processtest.KilledProcesses(t, place, store, processtest.NothingElse)
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	place, store := newPlace(t)
	processtest.ProcessesStartedTogether(t, place, func() leasestore.Store { return store })
}
