package testdb

import (
	"bufio"
	"context"
	"strings"

	"github.com/sqlflake/sqlflake/internal/dbserver"
)

// SetFallbacks replaces the default addresses. Call it before the first use of a server.
func SetFallbacks(postgres, mariadb, redis string) {
	postgresServer.fallback, mariadbServer.fallback, redisServer.fallback = postgres, mariadb, redis
}

// HideBinaries makes PostgreSQL appear as not installed.
func HideBinaries() {
	postgresServer.start = func() (string, error) { return "", dbserver.ErrNotInstalled }
}

// DoRedis sends one command to a server.
func DoRedis(ctx context.Context, addr string, args ...string) (any, error) {
	c, err := dialRESP(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.do(args...)
}

// ParseReply parses one reply of a Redis server.
func ParseReply(text string) (any, error) {
	c := &resp{in: bufio.NewReader(strings.NewReader(text))}
	return c.reply()
}
