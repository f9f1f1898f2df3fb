//go:build newest

package compat

// This file is never compiled. With it go.mod requires the newest versions of what else is required in its oldest one
// by published modules, so that the tests in go.work run on the newest.
import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/google/uuid"
	_ "github.com/mattn/go-sqlite3"
	_ "github.com/redis/go-redis/v9"
	_ "go.opentelemetry.io/otel/metric"
	_ "gorm.io/driver/mysql"
	_ "gorm.io/driver/postgres"
	_ "gorm.io/driver/sqlite"
)
