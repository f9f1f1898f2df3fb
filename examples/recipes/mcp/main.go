// Mcp lets language models work with a table of users: an MCP server on standard input and output, with three tools.
//
//	go run ./mcp
//
// The SDK sees only the kind of a type: without idSchemas it says that an ID is an integer. Clients then send numbers,
// which JavaScript and the SDK's own decoding of arguments round: the tool works on another row, without an error.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

type User struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int" json:"id"`
	Name string       `json:"name"`
}

type (
	userID struct {
		ID snowflake.ID `json:"id"`
	}
	newUser struct {
		Name string `json:"name"`
	}
	page struct {
		After snowflake.ID `json:"after" jsonschema:"the last id of the page before, or 0"`
	}
	users struct {
		Users []User `json:"users"`
	}
)

// idSchemas says that an ID is a string, even inside other types.
var idSchemas = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[snowflake.ID](): {
		Type: "string", Pattern: "^(0|[1-9][0-9]{0,18})$", Description: "digits; never a number",
	},
}}

// addTool adds a tool with the given schemas. A type without a schema is a mistake in the program, as for mcp.AddTool.
func addTool[In, Out any](
	s *mcp.Server, name, description string, schemas *jsonschema.ForOptions, run mcp.ToolHandlerFor[In, Out],
) error {
	in, err := jsonschema.For[In](schemas)
	if err != nil {
		return err
	}

	out, err := jsonschema.For[Out](schemas)
	if err != nil {
		return err
	}

	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, InputSchema: in, OutputSchema: out}, run)
	return nil
}

func newServer(db *gorm.DB, schemas *jsonschema.ForOptions) (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "users", Version: "1"}, nil)

	return s, errors.Join(
		addTool(s, "get_user", "Returns a user", schemas,
			func(ctx context.Context, _ *mcp.CallToolRequest, in userID) (*mcp.CallToolResult, User, error) {
				var user User
				err := db.WithContext(ctx).Take(&user, in.ID).Error
				return nil, user, err
			}),
		addTool(s, "add_user", "Adds a user, and returns it with its id", schemas,
			func(ctx context.Context, _ *mcp.CallToolRequest, in newUser) (*mcp.CallToolResult, User, error) {
				user := User{Name: in.Name}
				err := db.WithContext(ctx).Create(&user).Error
				return nil, user, err
			}),
		addTool(s, "list_users", "Returns up to 100 users in the order of their creation", schemas,
			func(ctx context.Context, _ *mcp.CallToolRequest, in page) (*mcp.CallToolResult, users, error) {
				out := users{Users: []User{}}
				err := db.WithContext(ctx).Clauses(gormplugin.Page{After: in.After, Limit: 100}).Find(&out.Users).Error
				return nil, out, err
			}),
	)
}

func main() {
	if err := run(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()

	db, err := gorm.Open(sqlite.Open("mcp.db"))
	if err != nil {
		return err
	}

	plugin, err := gormplugin.Open(ctx, db) // leases a worker number
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.Background())) }()

	if err := db.AutoMigrate(&User{}); err != nil {
		return err
	}

	server, err := newServer(db, idSchemas)
	if err != nil {
		return err
	}

	return server.Run(ctx, &mcp.StdioTransport{})
}
