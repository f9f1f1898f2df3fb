package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestWriteTableIsForPeople(t *testing.T) {
	const layout = "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"
	var out strings.Builder
	err := lease.WriteTable(&out, []lease.Entry{
		{
			Claim: lease.Claim{Namespace: "default", Worker: 0, Epoch: 12}, Layout: layout, Horizon: 86_400_123, Held: true,
			Expires: time.Date(2025, 1, 2, 0, 0, 10, 0, time.UTC), Holder: lease.Holder{Host: "web-1", PID: 4711, Version: "v1.4.0"},
		},
		{Claim: lease.Claim{Namespace: "default", Worker: 1, Epoch: 1}, Layout: "something else", Horizon: 5},
	})
	want := `NAMESPACE  WORKER  STATE  EPOCH  HORIZON                   EXPIRES                   HOST   PID   VERSION
default    0       held   12     2025-01-02T00:00:00.123Z  2025-01-02T00:00:10.000Z  web-1  4711  v1.4.0
default    1       free   1      tick 5                    -                         -      0     -
`
	if out.String() != want || err != nil {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}
