package gormplugin

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"

	"gorm.io/gorm/logger"
)

// leaseLog is a slog.Handler that passes records to GORM's logger, which filters by its own level. Attributes follow the
// message as text. It drops records below Info, for which GORM has no level.
type leaseLog struct {
	to   logger.Interface
	with []func(slog.Handler) slog.Handler // WithAttrs and WithGroup, in their order
}

func newLeaseLog(to logger.Interface) *leaseLog { return &leaseLog{to: to} }

// Enabled is as slog.Handler says.
func (*leaseLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle is as slog.Handler says.
func (h *leaseLog) Handle(ctx context.Context, record slog.Record) error {
	var text bytes.Buffer
	var attributes slog.Handler = slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutBuiltIn})
	for _, with := range h.with {
		attributes = with(attributes)
	}
	if err := attributes.Handle(ctx, record); err != nil {
		return err
	}
	line := strings.TrimSpace(record.Message + " " + text.String())
	switch {
	case record.Level >= slog.LevelError:
		h.to.Error(ctx, "%s", line)
	case record.Level >= slog.LevelWarn:
		h.to.Warn(ctx, "%s", line)
	default:
		h.to.Info(ctx, "%s", line)
	}
	return nil
}

// withoutBuiltIn drops what GORM's logger writes itself.
func withoutBuiltIn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs is as slog.Handler says.
func (h *leaseLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup is as slog.Handler says.
func (h *leaseLog) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h *leaseLog) and(with func(slog.Handler) slog.Handler) *leaseLog {
	return &leaseLog{to: h.to, with: append(slices.Clone(h.with), with)}
}
