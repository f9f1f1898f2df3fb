package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

const want = `Requests and answers contain tokens:
  POST /users {"name":"Ada"}
  201 {"id":"2BN5D8MQNV4EBEF8WQ5QEYGZDA","name":"Ada"}
  POST /orders {"user_id":"2BN5D8MQNV4EBEF8WQ5QEYGZDA","article":"paper"}
  201 {"id":"3SHWT8QHFQZ2GVKQ774MWHHZ9C","article":"paper"}
  GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZDA
  200 {"id":"2BN5D8MQNV4EBEF8WQ5QEYGZDA","name":"Ada","orders":[{"id":"3SHWT8QHFQZ2GVKQ774MWHHZ9C","article":"paper"}]}

The database contains only the number:
  users.id = 153652455014400000, integer

The number, the token of an order and a changed token are not found:
  GET /users/153652455014400000
  404 {"error":"not found"}
  POST /orders {"user_id":153652455014400000,"article":"ink"}
  404 {"error":"not found"}
  GET /users/3SHWT8QHFQZ2GVKQ774MWHHZ9C
  404 {"error":"not found"}
  GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZD0
  404 {"error":"not found"}

After a change of keys old tokens still work, and new ones are issued:
  GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZDA
  200 {"id":"6YHDAY1GRHE9A05XB8KZ5PS9NT","name":"Ada","orders":[{"id":"74F3BZ7C3PWD29V7MTBC5HPXS5","article":"paper"}]}
  GET /users/6YHDAY1GRHE9A05XB8KZ5PS9NT
  200 {"id":"6YHDAY1GRHE9A05XB8KZ5PS9NT","name":"Ada","orders":[{"id":"74F3BZ7C3PWD29V7MTBC5HPXS5","article":"paper"}]}
`

// The generator and the keys are fixed, so the output is the same in each run.
func TestOutput(t *testing.T) {
	list, err := publicid.ParseKeys("2026b:f0e1d2c3b4a5968778695a4b3c2d1e0f,2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		t.Fatal(err)
	}
	keys := keys{now: list[1:], next: list[0]}
	gen := gormtest.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	var out strings.Builder
	if err := run(t.Context(), filepath.Join(t.TempDir(), "shop.db"), keys, gen, &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestItRunsWithAKeyOfItsOwnAndWithThoseOfTheEnvironment(t *testing.T) {
	for _, variable := range []string{"TMPDIR", "TMP"} { // the second on Windows
		t.Setenv(variable, t.TempDir())
	}
	for _, keys := range []string{"", "a:000102030405060708090a0b0c0d0e0f,b:ASNFZ4mrze/+3LqYdlQyEA=="} {
		t.Setenv("PUBLICID_KEYS", keys)
		var out strings.Builder
		if err := start(t.Context(), &out); err != nil || strings.Count(out.String(), "\n  404 ") != 4 {
			t.Errorf("%v:\n%s", err, out.String())
		}
	}
	t.Setenv("PUBLICID_KEYS", "a:0001020304050607")
	var out strings.Builder
	err := start(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), `"a" has 16 characters`) || strings.Contains(err.Error(), "0001") {
		t.Errorf("with a bad key: %v", err)
	}
}
