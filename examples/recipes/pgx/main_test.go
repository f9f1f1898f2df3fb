package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `{"id":"<1>","reply_to":null,"body":"Is there tea?"}
{"id":"<2>","reply_to":"<1>","body":"Yes."}
{"id":"<3>","reply_to":"<1>","body":"Green or black?"}
{"id":"<4>","reply_to":"<1>","body":"No, coffee."}
{"id":"<5>","reply_to":"<1>","body":"Or milk?"}
{"id":"<6>","reply_to":"<5>","body":"No."}
by key: ["Yes." "Green or black?"]
<1> has the replies [<2> <3> <4> <5>]
again: duplicate key value violates unique constraint "messages_pkey"
`

// TestOutput runs the program in each mode in which pgx sends arguments. The last two do not ask the server for their
// types.
func TestOutput(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), testdb.Postgres(t).DSN+"&default_query_exec_mode="+mode, &out); err != nil {
				t.Fatal(err)
			}
			if got := numbered(out.String()); got != want {
				t.Errorf("printed\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// numbered replaces each ID by <1>, <2> and so on, in the order in which they appear: the same ID by the same number.
func numbered(text string) string {
	seen := map[string]string{}
	return regexp.MustCompile(`\b\d{15,19}\b`).ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("<%d>", len(seen)+1)
		}
		return seen[id]
	})
}

// BenchmarkCopyFrom compares 10,000 rows with an ID and with the same number as an int64.
func BenchmarkCopyFrom(b *testing.B) {
	const rows = 10_000
	conn, err := pgx.Connect(b.Context(), testdb.Postgres(b).DSN)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(b.Context()) }()
	gen, err := snowflake.New(1)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(b.Context(), schema); err != nil {
		b.Fatal(err)
	}
	ids := make([]snowflake.ID, rows)
	for _, kind := range []struct {
		name string
		key  func(i int) any
	}{
		{"ID", func(i int) any { return ids[i] }},
		{"int64", func(i int) any { return ids[i].Int64() }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				if err := gen.Fill(b.Context(), ids); err != nil {
					b.Fatal(err)
				}
				next := pgx.CopyFromSlice(rows, func(i int) ([]any, error) { return []any{kind.key(i), "text"}, nil })
				n, err := conn.CopyFrom(b.Context(), pgx.Identifier{"messages"}, []string{"id", "body"}, next)
				if err != nil || n != rows {
					b.Fatalf("%d rows, %v", n, err)
				}
				b.StopTimer()
				if _, err := conn.Exec(b.Context(), "TRUNCATE messages"); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
