package gormplugin

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// leaseLog is a slog.Handler that passes records to GORM's logger, which filters by its own level. Attributes follow
// the message as text. It drops records below Info, for which GORM has no level. The worker after a lost one is a
// warning too: at GORM's default level the loss would have no end.
type leaseLog struct {
	slog.Handler // writes attributes to text
	text         *lockedText
	to           logger.Interface
}

type lockedText struct {
	sync.Mutex
	bytes.Buffer
	lost bool // a worker, and none was acquired since
}

func newLeaseLog(to logger.Interface) *leaseLog {
	text := &lockedText{}
	return &leaseLog{slog.NewTextHandler(text, &slog.HandlerOptions{ReplaceAttr: withoutBuiltIn}), text, to}
}

// withoutBuiltIn drops what GORM's logger writes itself.
func withoutBuiltIn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Handle implements slog.Handler: it passes the record to GORM's logger as one line.
func (h *leaseLog) Handle(ctx context.Context, record slog.Record) error {
	h.text.Lock()
	h.text.Reset()
	err := h.Handler.Handle(ctx, record)
	line := strings.TrimSpace(record.Message + " " + h.text.String())
	switch record.Message {
	case "snowflake lease " + string(lease.Lost):
		h.text.lost = true
	case "snowflake lease " + string(lease.Acquired):
		if h.text.lost {
			record.Level = max(record.Level, slog.LevelWarn)
		}
		h.text.lost = false
	}
	h.text.Unlock()
	log := h.to.Info
	switch {
	case err != nil:
		return err
	case record.Level >= slog.LevelError:
		log = h.to.Error
	case record.Level >= slog.LevelWarn:
		log = h.to.Warn
	}
	log(ctx, "%s", line)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *leaseLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &leaseLog{h.Handler.WithAttrs(attrs), h.text, h.to}
}

// WithGroup implements slog.Handler.
func (h *leaseLog) WithGroup(name string) slog.Handler {
	return &leaseLog{h.Handler.WithGroup(name), h.text, h.to}
}
