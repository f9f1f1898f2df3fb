package engine

import (
	"context"
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
		{
			"postgres", "postgres://me:" + url.QueryEscape(secret) + "@127.0.0.1:1/shop",
			[]string{"127.0.0.1:1", "shop", "me", "start it"},
		},
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
func account(t *testing.T, name string) (user string, c Config) {
	t.Helper()
	user = "sqlflake_t_" + newPlace()[len(placePrefix):]
	c = config(t, name)
	switch name {
	case "postgres":
		db := testdb.Postgres(t).Open(t)
		_, err := db.ExecContext(t.Context(), "CREATE ROLE "+user+" LOGIN PASSWORD '"+secret+"'")
		must(t, err)
		t.Cleanup(func() {
			_, err := db.ExecContext(context.Background(), "DROP OWNED BY "+user+"; DROP ROLE "+user)
			must(t, err)
		})
		dsn, err := url.Parse(c.Postgres)
		must(t, err)
		dsn.User = url.UserPassword(user, secret)
		c.Postgres = dsn.String()
	case "mariadb":
		db := testdb.MariaDB(t).Open(t)
		_, err := db.ExecContext(t.Context(), "CREATE USER "+user+" IDENTIFIED BY '"+secret+"'")
		must(t, err)
		t.Cleanup(func() {
			_, err := db.ExecContext(context.Background(), "DROP USER "+user)
			must(t, err)
		})
		dsn, err := mysql.ParseDSN(c.MariaDB)
		must(t, err)
		dsn.User, dsn.Passwd = user, secret
		c.MariaDB = dsn.FormatDSN()
	}
	return user, c
}

// grant runs a statement as administrator.
func grant(t *testing.T, name, statement string) {
	t.Helper()
	target := map[string]func(testing.TB) testdb.Target{"postgres": testdb.Postgres, "mariadb": testdb.MariaDB}[name](t)
	_, err := target.Open(t).ExecContext(t.Context(), statement)
	must(t, err)
}

func TestUserWithoutRightsIsToldWhichToAskFor(t *testing.T) {
	for _, name := range servers {
		user, c := account(t, name)
		_, err := Open(t.Context(), name, c)
		if err == nil || !strings.Contains(err.Error(), "GRANT") || !strings.Contains(err.Error(), user) {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the password is in %v", name, err)
		}
		t.Log(err)
	}
}

func TestUserWithFewRightsMeasuresTheSizes(t *testing.T) {
	for _, name := range servers {
		t.Run(name, func(t *testing.T) {
			user, c := account(t, name)
			if name == "postgres" {
				database := one[string](t, testdb.Postgres(t).Open(t), "SELECT current_database()")
				grant(t, name, "GRANT CREATE ON DATABASE "+database+" TO "+user)
			} else {
				grant(t, name, "GRANT ALL ON `sqlflake\\_storage\\_%`.* TO "+user)
			}
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
			t.Logf("%+v %+v\n%s", list, usage(t, e).Since(before), strings.Join(e.Notes(), "\n"))
			if u := usage(t, e).Since(before); u.Log <= 0 {
				t.Errorf("%+v", u)
			}
		})
	}
}
