package adopt_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm/logger"
)

// recorder keeps the statements that GORM runs, and the warnings it gives.
type recorder struct {
	mu         sync.Mutex
	statements []string
	warnings   []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }
func (r *recorder) Info(context.Context, string, ...any)     {}
func (r *recorder) Error(_ context.Context, m string, a ...any) {
	r.Warn(context.Background(), m, a...)
}

func (r *recorder) Warn(_ context.Context, message string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, fmt.Sprintf(message, args...))
}

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, statement)
}

// take returns the statements since the last time.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements := r.statements
	r.statements = nil
	return statements
}
