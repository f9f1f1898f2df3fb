package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

// TestMain runs the servers for the client in node.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv("RUN_SERVER") {
	case "users":
		err = run(context.Background())
	case "echo":
		server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
		if err = addEcho(server); err == nil {
			err = server.Run(context.Background(), &mcp.StdioTransport{})
		}
	default:
		os.Exit(m.Run())
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type manyIDs struct {
	IDs []snowflake.ID `json:"ids"`
}

// addEcho adds a tool that returns what it gets: get_user of so many would take minutes.
func addEcho(server *mcp.Server) error {
	return addTool(server, "echo", "Returns the IDs", idSchemas,
		func(_ context.Context, _ *mcp.CallToolRequest, in manyIDs) (*mcp.CallToolResult, manyIDs, error) {
			return nil, in, nil
		})
}

// connect returns a client of a server with an empty table.
func connect(t *testing.T, schemas *jsonschema.ForOptions) (*mcp.ClientSession, *gorm.DB) {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&User{}))
	server, err := newServer(db, schemas)
	exampletest.Must(t, err)
	exampletest.Must(t, addEcho(server))
	near, far := mcp.NewInMemoryTransports()
	_, err = server.Connect(t.Context(), near, nil)
	exampletest.Must(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), far, nil)
	exampletest.Must(t, err)
	t.Cleanup(func() { _ = client.Close() })

	return client, db
}

// call returns what a tool answers, and whether that is an error.
func call(t *testing.T, c *mcp.ClientSession, tool string, arguments any) (answer string, failed bool) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func TestToolsTakeAndReturnIDsUnchanged(t *testing.T) {
	client, db := connect(t, idSchemas)
	for _, name := range []string{"Ada", "Grace"} {
		answer, failed := call(t, client, "add_user", map[string]any{"name": name})
		var added User
		if err := json.Unmarshal([]byte(answer), &added); failed || err != nil || added.Name != name {
			t.Fatalf("add_user returned %s", answer)
		}
		if got, failed := call(t, client, "get_user", map[string]any{"id": added.ID}); failed || got != answer {
			t.Errorf("get_user of %d returned %s, want %s", added.ID, got, answer)
		}
	}

	listed, failed := call(t, client, "list_users", map[string]any{"after": "0"})
	const want = `{"users":[{"id":"132861478830080000","name":"Ada"},{"id":"132861478834274304","name":"Grace"}]}`
	if failed || listed != want {
		t.Errorf("list_users returned %s, want %s", listed, want)
	}
	if answer, failed := call(t, client, "get_user", map[string]any{"id": 132861478830080000}); !failed {
		t.Errorf("a number was taken for an ID: %s", answer)
	}

	users := fill(t, db)
	seen := 0
	for after := users[0].ID - 1; ; {
		var got struct{ Users []User }
		answer, failed := call(t, client, "list_users", map[string]any{"after": after})
		if err := json.Unmarshal([]byte(answer), &got); failed || err != nil {
			t.Fatalf("list_users returned %s: %v", answer, err)
		}
		if len(got.Users) == 0 {
			break
		}

		sent, back := manyIDs{}, manyIDs{}
		for _, u := range got.Users {
			sent.IDs = append(sent.IDs, u.ID)
		}

		answer, failed = call(t, client, "echo", sent)
		if err := json.Unmarshal([]byte(answer), &back); failed || err != nil {
			t.Fatalf("echo returned %s: %v", answer, err)
		}

		for i, id := range back.IDs {
			if id != users[seen+i].ID {
				t.Fatalf("row %d has the ID %d, want %d", seen+i, id, users[seen+i].ID)
			}
		}

		seen += len(back.IDs)
		after = got.Users[len(got.Users)-1].ID
	}

	if seen != rows {
		t.Errorf("%d of %d IDs came back", seen, rows)
	}
}

const rows = 20_000

func fill(t *testing.T, db *gorm.DB) []User {
	t.Helper()
	users := make([]User, rows)
	exampletest.Must(t, db.CreateInBatches(&users, 10_000).Error)
	return users
}

func TestAClientInNodeGetsEveryIDUnchanged(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "", "node is not installed")
	}

	dir := t.TempDir()
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	db, err := gorm.Open(sqlite.Open(filepath.Join(dir, "mcp.db")), gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&User{}))
	sum := new(big.Int)

	for _, u := range fill(t, db) {
		sum.Add(sum, big.NewInt(int64(u.ID)))
	}

	client, err := filepath.Abs("testdata/client.mjs")
	exampletest.Must(t, err)
	program, err := os.Executable()
	exampletest.Must(t, err)
	command := exec.CommandContext(t.Context(), node, client, program)
	command.Dir, command.Env = dir, os.Environ()
	command.Stderr = os.Stderr
	out, err := command.Output()

	if want := fmt.Sprintf("%d %v\n", rows, sum); err != nil || string(out) != want {
		t.Errorf("node printed %q, %v, want %q", out, err, want)
	}
}

// What idSchemas is for. If this test fails, the SDK has learned to ask types for their schema.
func TestWithoutOurSchemaAToolWorksOnAnotherRow(t *testing.T) {
	client, db := connect(t, nil)
	const asked = 175928847299117063
	exampletest.Must(t, db.Create(&[]User{{ID: asked, Name: "Ada"}, {ID: 175928847299117060, Name: "Eve"}}).Error)
	tools, err := client.ListTools(t.Context(), nil)
	exampletest.Must(t, err)
	schema, err := json.Marshal(tools.Tools)
	exampletest.Must(t, err)

	if !strings.Contains(string(schema), `"id":{"type":"integer"}`) {
		t.Errorf("the schema of an ID is no integer: %s", schema)
	}

	for argument, want := range map[any]string{
		snowflake.ID(asked): `has type "string", want "integer"`, // our own JSON is refused
		int64(asked):        "175928847299117060",                // the tool has found this row, and can't return it
	} {
		if answer, failed := call(t, client, "get_user", map[string]any{"id": argument}); !failed ||
			!strings.Contains(answer, want) {
			t.Errorf("get_user of the %T returned %s, want an error with %s", argument, answer, want)
		}
	}
}
