package main

import (
	"strings"
	"testing"
)

// TestNoPasswordIsPrinted passes DSNs to the right flag and to wrong ones, with servers that are not there.
func TestNoPasswordIsPrinted(t *testing.T) {
	const secret = "Geh%65im-17"
	for _, dsn := range []string{
		"postgres://app:a@b" + secret + "@127.0.0.1:one/shop",
		"postgres://app:a/b" + secret + "@127.0.0.1:1/shop",
		"postgres://app:im-17:" + secret + "@127.0.0.1:one/shop",
		"app:im-17:" + secret + "@tcp(127.0.0.1:1/shop",
		`user=app password='a\'b ` + secret + `' host=127.0.0.1 port=one`,
		`user=app password=a\ b` + secret + ` host=127.0.0.1 port=one`,
		`user=app password='a b` + secret + ` host=127.0.0.1 port=1`,
		"postgres://:" + secret + "@127.0.0.1:one/shop",
		"app:a@b" + secret + "@tcp(127.0.0.1:1)/shop",
		"app:a/b" + secret + "@tcp(127.0.0.1:1)",
		"app:a(b " + secret + "@tcp(127.0.0.1:1/shop",
		"user=app password='a b" + secret + "' host=127.0.0.1 port=one",
		"user=app  password = a@b" + secret + " host=127.0.0.1 port=one",
		"postgres://app:" + secret + "@127.0.0.1:1/shop",
		"postgresql://app:" + secret + "@127.0.0.1:1/shop?sslmode=nonsense",
		"postgres://app:" + secret + "@127.0.0.1:one/shop",
		"postgres://app:%zz" + secret + "@127.0.0.1:1/shop",
		"postgres://127.0.0.1:1/shop?user=app&password=" + secret,
		"host=127.0.0.1 port=1 user=app password=" + secret + " dbname=shop",
		"host=127.0.0.1 port=one user=app password='" + secret + "' dbname=shop",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop",
		"app:" + secret + "@tcp(127.0.0.1:1)",
		"app:" + secret + "@tcp(127.0.0.1:1/shop",
		"app:" + secret + "@nonsense(127.0.0.1:1)/shop",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop?timeout=long",
		"mysql://app:" + secret + "@127.0.0.1:1/shop",
	} {
		for _, args := range [][]string{
			{"workers", "-dsn", dsn},
			{"workers", "watch", "-dsn", dsn},
			{"workers", "release", "3", "-dsn", dsn},
			{"new", "-dsn", dsn},
			{"workers", dsn},
			{"worker", dsn},
			{dsn},
			{"workers", "watch", "-interval", dsn},
			{"workers", "release", dsn, "-dsn", dsn},
			{"new", "-n", dsn},
			{"layout", dsn},
			{"decode", dsn},
		} {
			r := do(t, "", args...)
			if r.code == exitOK || r.out != "" || r.err == "" {
				t.Errorf("%q: %+v", args, r)
			}
			if strings.Contains(r.err, secret) || strings.Contains(r.err, "Geheim-17") || strings.Contains(r.err, "im-17") {
				t.Errorf("%q: %s", args, r.err)
			}
		}
	}
}

func TestNoDatabaseIsCreated(t *testing.T) {
	path := t.TempDir() + "/none.db"
	do(t, "", "workers", "-dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	do(t, "", "new", "-dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	do(t, "", "workers", "-dsn", path).fails(t, exitFailed, "unknown form of a DSN")
}
