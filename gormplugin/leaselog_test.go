package gormplugin_test

import (
	"bytes"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// takeWarnings returns the warnings since the last time.
func (r *recorder) takeWarnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	warnings := r.warnings
	r.warnings = nil
	return warnings
}

func TestTheLeaseTellsGORMsLogger(t *testing.T) {
	for _, c := range []struct {
		level     logger.LogLevel
		has, lack []string
	}{
		{logger.Info, []string{"[info] snowflake lease acquired namespace=n%d worker=0 epoch=1 horizon=", "snowflake lease released", "[warn] snowflake lease lost"}, nil},
		{logger.Warn, []string{"[warn] snowflake lease lost", `error="lease: worker was taken over`, "[warn] snowflake lease acquired"}, []string{"[info]", "released", "extended"}},
		{logger.Error, nil, []string{"snowflake"}},
		{logger.Silent, nil, []string{"snowflake"}},
	} {
		t.Run(fmt.Sprint(c.level), func(t *testing.T) {
			var text bytes.Buffer
			h := on(t, testdb.SQLite(t))
			h.Logger = logger.New(log.New(&text, "", 0), logger.Config{LogLevel: c.level})
			clock := newPushed()
			keys := clock.open(t, h, lease.WithNamespace("n%d"))
			_, err := h.pool.Exec("UPDATE snowflake_leases SET epoch = epoch + 1 WHERE worker >= 0")
			noError(t, err)
			clock.until(t, "another worker", func() bool { return keys.Lease().Status().Losses > 0 && keys.Lease().Status().Held })
			noError(t, keys.Close(t.Context()))
			for _, want := range c.has {
				if !strings.Contains(text.String(), want) {
					t.Errorf("no %q in the log:\n%s", want, &text)
				}
			}
			for _, no := range append(c.lack, "UPDATE", "SELECT", "INSERT", "CREATE") {
				if strings.Contains(text.String(), no) {
					t.Errorf("%q is in the log:\n%s", no, &text)
				}
			}
		})
	}
}

func TestWithLoggerComesBeforeGORMsLogger(t *testing.T) {
	var text, gorms bytes.Buffer
	h := on(t, testdb.SQLite(t))
	h.Logger = logger.New(log.New(&gorms, "", 0), logger.Config{LogLevel: logger.Info})
	keys := h.leased(t, gormplugin.WithLease(lease.WithLogger(slog.New(slog.NewTextHandler(&text, nil)))))
	noError(t, keys.Close(t.Context()))
	if !strings.Contains(text.String(), "acquired") || gorms.Len() > 0 {
		t.Errorf("own log:\n%s\nGORM's log:\n%s", &text, &gorms)
	}
}
