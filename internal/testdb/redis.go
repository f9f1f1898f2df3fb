package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

const redisFallback = "127.0.0.1:6379"

var redisServer = &server{
	name:     "redis",
	variable: "SNOWFLAKE_TEST_REDIS",
	fallback: redisFallback,
	parse:    parseRedis,
	version:  redisVersion,
}

// Redis returns the address of a server, as host:port, and a random prefix for keys. Keys with the prefix are deleted
// when the test ends.
func Redis(tb testing.TB) (addr, prefix string) {
	tb.Helper()
	addr = redisServer.need(tb).dsn
	prefix = newName() + ":"
	removeAtEnd(tb, "redis keys "+prefix+"*", func(ctx context.Context) error { return deleteKeys(ctx, addr, prefix) })
	return addr, prefix
}

func parseRedis(value string) (addr, printed string, err error) {
	if _, _, err := net.SplitHostPort(value); err != nil {
		// Neither the value nor the error, which quotes it: the value may contain a password.
		return "", "", fmt.Errorf("want an address such as %s", redisFallback)
	}
	return value, value, nil
}

func redisVersion(ctx context.Context, addr string) (string, error) {
	c, err := dialRESP(ctx, addr)
	if err != nil {
		return "", err
	}
	defer c.close()
	reply, err := c.do("INFO", "server")
	if err != nil {
		return "", err
	}
	info, _ := reply.(string)
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return version, nil
		}
	}
	return "", errors.New("INFO returned no redis_version")
}

func deleteKeys(ctx context.Context, addr, prefix string) error {
	c, err := dialRESP(ctx, addr)
	if err != nil {
		return err
	}
	defer c.close()
	for cursor := "0"; ; {
		reply, err := c.do("SCAN", cursor, "MATCH", prefix+"*", "COUNT", "1000")
		if err != nil {
			return err
		}
		page, _ := reply.([]any)
		if len(page) != 2 {
			return fmt.Errorf("unexpected reply to SCAN: %v", reply)
		}
		keys, _ := page[1].([]any)
		for _, key := range keys {
			if _, err := c.do("DEL", fmt.Sprint(key)); err != nil {
				return err
			}
		}
		if cursor = fmt.Sprint(page[0]); cursor == "0" {
			return nil
		}
	}
}
