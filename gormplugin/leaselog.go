package gormplugin

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// leaseLog is a slog.Handler that passes records to GORM's logger, which filters by its own level. Attributes follow
// the message as text. It drops records below Info, for which GORM has no level. The worker after a lost one is a
// warning too: at GORM's default level the log would show the loss and never its end.
type leaseLog struct {
	to   logger.Interface
	with func(slog.Handler) slog.Handler // adds the attributes and groups
	lost *atomic.Bool                    // a worker, and none was acquired since
}

func newLeaseLog(to logger.Interface) *leaseLog {
	return &leaseLog{to, func(h slog.Handler) slog.Handler { return h }, new(atomic.Bool)}
}

// Enabled implements slog.Handler.
func (h *leaseLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler: it passes the record to GORM's logger as one line.
func (h *leaseLog) Handle(ctx context.Context, record slog.Record) error {
	text := strings.Builder{}
	inner := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutBuiltIn})
	if err := h.with(inner).Handle(ctx, record); err != nil {
		return err
	}
	switch record.Message {
	case "snowflake lease " + string(lease.Lost):
		h.lost.Store(true)
	case "snowflake lease " + string(lease.Acquired):
		if h.lost.Swap(false) {
			record.Level = max(record.Level, slog.LevelWarn)
		}
	}
	log := h.to.Info
	switch {
	case record.Level >= slog.LevelError:
		log = h.to.Error
	case record.Level >= slog.LevelWarn:
		log = h.to.Warn
	}
	log(ctx, "%s", strings.TrimSpace(record.Message+" "+text.String()))
	return nil
}

// withoutBuiltIn drops what GORM's logger writes itself.
func withoutBuiltIn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h *leaseLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &leaseLog{h.to, func(inner slog.Handler) slog.Handler { return h.with(inner).WithAttrs(attrs) }, h.lost}
}

// WithGroup implements slog.Handler.
func (h *leaseLog) WithGroup(name string) slog.Handler {
	return &leaseLog{h.to, func(inner slog.Handler) slog.Handler { return h.with(inner).WithGroup(name) }, h.lost}
}
