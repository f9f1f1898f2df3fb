package main

import (
	"encoding/json"
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
	"github.com/sqlflake/sqlflake/snowflake"
)

// connect returns a client of a server with an empty table.
func connect(t *testing.T, schemas *jsonschema.ForOptions) (*mcp.ClientSession, *gorm.DB) {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&User{}))
	server, err := newServer(db, schemas)
	exampletest.Must(t, err)
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
	client, _ := connect(t, idSchemas)
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
