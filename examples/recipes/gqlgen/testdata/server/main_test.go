// Package server serves the generated schema.
package server

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"github.com/sqlflake/sqlflake/examples/recipes/gqlgen/graph"
	"github.com/sqlflake/sqlflake/snowflake"
)

type resolver map[snowflake.ID]*graph.User

func (r resolver) Query() graph.QueryResolver       { return r }
func (r resolver) Mutation() graph.MutationResolver { return r }

func (r resolver) AddUser(_ context.Context, name string) (*graph.User, error) {
	u := &graph.User{ID: 250263666560077824 + snowflake.ID(len(r)), Name: name}
	r[u.ID] = u
	return u, nil
}

func (r resolver) Users(_ context.Context, ids []snowflake.ID) (users []*graph.User, err error) {
	for _, id := range ids {
		users = append(users, r[id])
	}
	return users, nil
}

func TestIDsAreStringsAndBothFormsAreRead(t *testing.T) {
	server := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: resolver{}}))
	server.AddTransport(transport.POST{})
	for _, test := range [][2]string{
		{`{"query":"mutation{addUser(name:\"Ada\"){id name}}"}`,
			`{"data":{"addUser":{"id":"250263666560077824","name":"Ada"}}}`},
		{`{"query":"mutation{addUser(name:\"Grace\"){id}}"}`, `{"data":{"addUser":{"id":"250263666560077825"}}}`},
		{`{"query":"{users(ids:[250263666560077824,\"250263666560077825\"]){id}}"}`,
			`{"data":{"users":[{"id":"250263666560077824"},{"id":"250263666560077825"}]}}`},
		{
			`{"query":"query($ids:[ID!]!){users(ids:$ids){name}}","variables":{"ids":["250263666560077824",250263666560077825]}}`,
			`{"data":{"users":[{"name":"Ada"},{"name":"Grace"}]}}`,
		},
		{`{"query":"{users(ids:[\"007\"]){id}}"}`, `{"errors":[{"message":"snowflake: text \"007\" is not an ID`},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(test[0]))
		r.Header.Set("Content-Type", "application/json")
		if server.ServeHTTP(w, r); !strings.HasPrefix(w.Body.String(), test[1]) {
			t.Errorf("%s\nis answered %s\nwant %s", test[0], w.Body, test[1])
		}
	}
}
