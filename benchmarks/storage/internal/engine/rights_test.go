package engine

import (
	"context"
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

const secret = "geh/eim@1"

func TestErrorsSayWhereAndKeepThePassword(t *testing.T) {
	for _, test := range []struct {
		engine, dsn string
		want        []string
	}{
		{"postgres", "postgres://me:" + url.QueryEscape(secret) + "@127.0.0.1:1/shop", []string{"127.0.0.1:1", "shop", "me"}},
		{"postgres", "postgres://me:" + secret + "@127.0.0.1:1/shop", []string{"DSN"}},
		{"postgres", "host=127.0.0.1 port=none password=" + secret, []string{"DSN"}},
		{"postgres", "host=/nowhere user=me dbname=shop password=" + secret, []string{"/nowhere", "shop"}},
		{"mariadb", "me:" + secret + "@tcp(127.0.0.1:1)/", []string{"127.0.0.1:1", "me", "start it"}},
		{"mariadb", "me:" + secret, []string{"DSN"}},
		{"mariadb", "me:" + secret + "@" + secret, []string{"DSN"}},
		{"mariadb", "me:" + secret + "@unix(/nowhere)/", []string{"/nowhere"}},
	} {
		_, err := Open(t.Context(), test.engine, Config{Postgres: test.dsn, MariaDB: test.dsn})
		if err == nil {
			t.Errorf("%s was opened", test.dsn)
			continue
		}
		t.Log(err)
		for _, word := range test.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not in: %v", word, err)
			}
		}
		for _, part := range []string{secret, "geh", "eim"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%q is in: %v", part, err)
			}
		}
	}
}

// account creates a user without rights and returns the configuration to connect as that user.
func account(t *testing.T, name string) (user string, admin *sql.DB, c Config) {
	t.Helper()
	user = "sqlflake_t_" + newPlace()[len(placePrefix):]
	c = config(t, name)
	create, drop := "CREATE USER "+user+" IDENTIFIED BY '"+secret+"'", "DROP USER "+user
	if name == "postgres" {
		admin = testdb.Postgres(t).Open(t)
		create, drop = "CREATE ROLE "+user+" LOGIN PASSWORD '"+secret+"'", "DROP OWNED BY "+user+"; DROP ROLE "+user
		dsn, err := url.Parse(c.Postgres)
		must(t, err)
		dsn.User = url.UserPassword(user, secret)
		c.Postgres = dsn.String()
	} else {
		admin = testdb.MariaDB(t).Open(t)
		dsn, err := mysql.ParseDSN(c.MariaDB)
		must(t, err)
		dsn.User, dsn.Passwd = user, secret
		c.MariaDB = dsn.FormatDSN()
	}
	_, err := admin.ExecContext(t.Context(), create)
	must(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), drop)
		must(t, err)
	})
	return user, admin, c
}

func TestUserWithFewRightsMeasuresTheSizes(t *testing.T) {
	for _, name := range servers {
		t.Run(name, func(t *testing.T) {
			user, admin, c := account(t, name)
			_, err := Open(t.Context(), name, c)
			if err == nil || !strings.Contains(err.Error(), "GRANT") || !strings.Contains(err.Error(), user) {
				t.Fatalf("the error does not say which right to ask for: %v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the password is in %v", err)
			}
			grant := "GRANT ALL ON `sqlflake\\_storage\\_%`.* TO " + user
			if name == "postgres" {
				grant = "GRANT CREATE ON DATABASE " + one[string](t, admin, "SELECT current_database()") + " TO " + user
			}
			_, err = admin.ExecContext(t.Context(), grant)
			must(t, err)
			e := openWith(t, name, c)
			const n = 3000
			fill(t, e, accounts("t", find(t, "explicit")), n)
			must(t, e.Settle(t.Context(), "t"))
			list := trees(t, e, "t")
			if !slices.Equal(roles(list), wantRoles(e, key.Kind{})) {
				t.Error(list)
			}
			for _, tree := range list {
				if tree.Bytes < 8*n {
					t.Errorf("%+v", tree)
				}
			}
			before := usage(t, e)
			exec(t, e, "DELETE FROM t")
			if u := usage(t, e).Since(before); u.Log <= 0 {
				t.Errorf("%+v\n%s", u, strings.Join(e.Notes(), "\n"))
			}
		})
	}
}
