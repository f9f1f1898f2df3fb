package filelease_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestFileKeepsWhatStorePromises(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store { return newFile(t, t.TempDir()) }, leasetest.Settings{NoExpiry: true})
}
