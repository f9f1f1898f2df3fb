package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// TestNoPasswordIsPrinted passes DSNs to the right flag and to wrong ones, with servers that are not there.
func TestNoPasswordIsPrinted(t *testing.T) {
	const secret = "Geh%65im-17"
	t.Chdir(t.TempDir()) // for files with these names, if there are any
	for _, dsn := range []string{
		"postgres://app:a@b" + secret + "@127.0.0.1:one/shop",
		"postgres://app:a/b" + secret + "@127.0.0.1:1/shop",
		"app:im-17:" + secret + "@tcp(127.0.0.1:1/shop",
		`user=app password='a\'b ` + secret + `' host=127.0.0.1 port=one`,
		`user=app password='a b` + secret + ` host=127.0.0.1 port=1`,
		"app:a/b" + secret + "@tcp(127.0.0.1:1)",
		"app:a(b " + secret + "@tcp(127.0.0.1:1/shop",
		"user=app  password = a@b" + secret + " host=127.0.0.1 port=one",
		"postgres://app:" + secret + "@127.0.0.1:1/shop",
		"postgresql://app:" + secret + "@127.0.0.1:1/shop?sslmode=nonsense",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop",
		"app:" + secret + "@nonsense(127.0.0.1:1)/shop",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop?timeout=long",
		"mysql://app:" + secret + "@127.0.0.1:1/shop",
		// These were printed, whole or in part.
		"postgres://app:im-17/b@127.0.0.1:1/shop", // the rest is taken for host and port, or for the database
		"postgres://app:im-17?b@127.0.0.1:1/shop",
		"postgres://app:im-17#b@127.0.0.1:1/shop",
		"postgres://app:1/" + secret + "@127.0.0.1:1/shop",
		"postgres://127.0.0.1:1?" + secret + "@127.0.0.1:1/shop",
		"postgres://127.0.0.1:1/shop?sslmode=" + secret,
		"postgres://app:" + secret,
		"postgres://app:" + secret + "%40127.0.0.1:1/shop",
		"postgres://127.0.0.1:1/shop?PASSWORD=" + secret,
		"postgres://127.0.0.1:1/shop?p%61ssword=" + secret,
		"user=app password=a " + secret + " host=127.0.0.1 port=1",
		"user=app password=a " + secret + "=b host=127.0.0.1 port=1",
		`user=app password="a ` + secret + `" host=127.0.0.1 port=1`,
		"Server=127.0.0.1;Port=1;User Id=app;Pwd=" + secret,
		"app:a@" + secret + "(127.0.0.1:1)/shop",
		"app: " + secret + "@tcp(127.0.0.1:1)/shop",
		"app:a\n" + secret + "@tcp(127.0.0.1:1)",
		"app:" + secret + "@unix(/none)/shop?x=%zz",
		"app:" + secret + "@tcp(127.0.0.1:1)/shop?tls=" + secret,
		"sqlite:none.db?_auth&_auth_user=app&_auth_pass=" + secret,
		"sqlite:none.db?_pragma=key('" + secret + "')",
		"file:none.db?_crypto_key=" + secret,
	} {
		for _, args := range [][]string{
			{"workers", "-dsn", dsn},
			{"workers", "release", "3", "-dsn", dsn},
			{"workers", dsn},
			{dsn},
			{"-dsn", dsn},
			{"help", dsn},
			{"decode", "--", "-dsn", dsn},
			{"workers", "-namespace", "-dsn", dsn},
			{"workers", "release", dsn, "-dsn", dsn},
			{"new", "-n", "-dsn=" + dsn}, // the value was forgotten
			{"workers", "watch", "-interval", "-dsn=" + dsn},
			{"partition", "plan", "t", "-key", "id", "-unit", "-dsn=" + dsn},
			{"decode", "-layout", "-dsn=" + dsn},
			{"decode", dsn},
			{"audit", "-table", "t", "-dsn", dsn},
			{"audit", "-table", "t", "-dsn", "sqlite:.", "-with", dsn},
			{"audit", "-table", dsn, "-dsn", dsn},
			{"new", "-worker", "1", "-state", dsn},
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

	const plan = "partition plan t -unit month -key=id"
	do(t, "", strings.Fields(plan)...).fails(t, exitUsage, "no database") // -key=id is no secret
	// A password with a space, which the shell has split, and which ends up as a setting.
	for _, dsn := range []string{"postgres://app:a im17@127.0.0.1:1/shop", "app:a im17@tcp(127.0.0.1:1)/shop"} {
		do(t, "", append([]string{"workers", "-dsn"}, strings.Fields(dsn)...)...).fails(t, exitUsage, errSecret.Error())
	}
	postgres, err := pgx.ParseConfig(testdb.Postgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	for setting, code := range map[string]string{"im17=b": "42704", "datestyle=im17": "22023"} {
		dsn := fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable password=a %s",
			postgres.Host, postgres.Port, postgres.User, postgres.Database, setting)
		for _, command := range []string{"workers", plan} {
			r := do(t, "", append(strings.Fields(command), "-dsn", dsn)...)
			if r.fails(t, exitFailed, "(SQLSTATE "+code+")"); strings.Contains(r.err, "im17") {
				t.Errorf("%s with %s: %s", command, setting, r.err)
			}
		}
	}
}

func TestNoDatabaseIsCreated(t *testing.T) {
	path := t.TempDir() + "/none.db"
	do(t, "", "workers", "-dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	do(t, "", "new", "-dsn", "sqlite:"+path).fails(t, exitFailed, "no such file")
	const forms = "unknown form of a DSN. The DSN is one of\n  postgres://user:password@host"
	for _, dsn := range []string{path, "mysql://root@host/db"} {
		do(t, "", "workers", "-dsn", dsn).fails(t, exitFailed, forms)
		do(t, "", "workers", "-dsn", dsn).fails(t, exitFailed, `For example: --dsn "app:secret@tcp(127.0.0.1:3306)/shop"`)
	}
}
