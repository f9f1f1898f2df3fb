package gormplugin

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// leaseLog is a slog.Handler that passes the records of a lease to GORM's logger, which filters by its own level. It
// drops records below Info, for which GORM has no level.
//
// GORM's default level hides Info. Then the first worker goes to slog's default logger, as with sqllease.Open, and not
// to standard output, where GORM writes: that may be the data of a program. The worker after a lost one is a warning:
// else the log would show the loss and never its end.
type leaseLog struct {
	to     logger.Interface
	opened atomic.Bool // a worker was acquired
	lost   atomic.Bool // a worker, and none was acquired since
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
		isFirst, isAfterLoss := !h.opened.Swap(true), h.lost.Swap(false)
		switch {
		case isAfterLoss:
			log = h.to.Warn
		case isFirst && hidesInfo(h.to):
			if others := slog.Default().Handler(); others.Enabled(ctx, record.Level) {
				return others.Handle(ctx, record)
			}
		}
	}

	log(ctx, "%s", strings.TrimSpace(record.Message+" "+text.String()))
	return nil
}

// hidesInfo reports whether a logger has GORM's default level, Warn. It reads the level from a field of GORM's own
// logger; of other loggers it is not known.
func hidesInfo(to logger.Interface) bool {
	v := reflect.Indirect(reflect.ValueOf(to))
	if v.Kind() != reflect.Struct {
		return false
	}
	level := v.FieldByName("LogLevel")
	return level.IsValid() && level.CanInt() && level.Int() == int64(logger.Warn)
}

// WithAttrs and WithGroup are not called: a lease adds nothing to its logger.
func (h *leaseLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *leaseLog) WithGroup(string) slog.Handler      { return h }
