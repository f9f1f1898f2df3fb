package gormplugin

import (
	"log/slog"

	"gorm.io/gorm/logger"
)

// NewLeaseLog is newLeaseLog for tests.
func NewLeaseLog(to logger.Interface) slog.Handler { return newLeaseLog(to) }
