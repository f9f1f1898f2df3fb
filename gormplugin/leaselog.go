package gormplugin

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// leaseLog is a slog.Handler that passes the records of a lease to GORM's logger, which filters by its own level. It
// drops records below Info, for which GORM has no level. The worker after a lost one is a warning too: at GORM's
// default level the log would show the loss and never its end.
type leaseLog struct {
	to   logger.Interface
	lost atomic.Bool // a worker, and none was acquired since
}

func (h *leaseLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle passes the record on as one line, with the attributes as text after the message.
func (h *leaseLog) Handle(ctx context.Context, record slog.Record) error {
	var text strings.Builder
	withoutBuiltIn := func(_ []string, a slog.Attr) slog.Attr { // what GORM's logger writes itself
		switch a.Key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey:
			return slog.Attr{}
		}
		return a
	}
	handler := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutBuiltIn})
	if err := handler.Handle(ctx, record); err != nil {
		return err
	}

	log := h.to.Info
	if record.Level >= slog.LevelWarn {
		log = h.to.Warn
	}
	switch record.Message {
	case "snowflake lease " + string(lease.Lost):
		h.lost.Store(true)
	case "snowflake lease " + string(lease.Acquired):
		if h.lost.Swap(false) {
			log = h.to.Warn
		}
	}

	log(ctx, "%s", strings.TrimSpace(record.Message+" "+text.String()))
	return nil
}

// WithAttrs and WithGroup are not called: a lease adds nothing to its logger.
func (h *leaseLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *leaseLog) WithGroup(string) slog.Handler      { return h }
