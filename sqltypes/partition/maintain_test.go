package partition

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// A lock that another process keeps, or that was left behind, is not waited for in silence.
func TestLongWaitForAnotherProcessIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := New(sqldb.Postgres, "events", Day, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		if err := s.patiently(ctx, &waiter{}, func() error { return errBusy }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || strings.Count(log.String(), "table=events") != n {
			t.Errorf("in 150 s the log has\n%s", &log)
		}
	})
}
