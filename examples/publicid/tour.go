package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// client calls the API over HTTP and prints requests and answers. After an error it does nothing.
type client struct {
	ctx    context.Context
	server *httptest.Server
	out    io.Writer
	err    error
}

// call prints the status and the answer, and decodes the answer into the last argument unless that is nil.
func (c *client) call(method, path, body string, into any) {
	if c.err != nil {
		return
	}
	request, err := http.NewRequestWithContext(c.ctx, method, c.server.URL+path, strings.NewReader(body))
	if err != nil {
		c.err = err
		return
	}
	response, err := c.server.Client().Do(request)
	if err != nil {
		c.err = err
		return
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	c.err = err
	fmt.Fprintf(c.out, "  %s\n  %d %s\n", strings.TrimSpace(method+" "+path+" "+body), response.StatusCode, text)
}

// tour uses the API as a browser would, reads the database, and changes the keys.
func tour(ctx context.Context, db *gorm.DB, keys keys, out io.Writer) error {
	c := &client{ctx: ctx, server: httptest.NewServer(newAPI(db)), out: out}
	var user, order struct{ ID string }
	fmt.Fprintln(out, "Requests and answers contain tokens:")
	c.call("POST", "/users", `{"name":"Ada"}`, &user)
	c.call("POST", "/orders", `{"user_id":"`+user.ID+`","article":"paper"}`, &order)
	c.call("GET", "/users/"+user.ID, "", nil)
	c.server.Close()
	if c.err != nil {
		return c.err
	}

	var row struct {
		ID   snowflake.ID
		Type string
	}
	if err := db.WithContext(ctx).Raw("SELECT id, typeof(id) AS type FROM users").Scan(&row).Error; err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe database contains only the number:\n  users.id = %d, %s\n", row.ID, row.Type)

	c.server = httptest.NewServer(newAPI(db))
	fmt.Fprintln(out, "\nThe number, the token of an order and a changed token are not found:")
	c.call("GET", "/users/"+row.ID.String(), "", nil)
	c.call("POST", "/orders", `{"user_id":`+row.ID.String()+`,"article":"ink"}`, nil)
	c.call("GET", "/users/"+order.ID, "", nil)
	c.call("GET", "/users/"+changed(user.ID), "", nil)
	c.server.Close()
	if c.err != nil {
		return c.err
	}

	// As after a restart. Other running processes need the new key before this one makes tokens with it.
	if err := useKeys(append([]publicid.Key{keys.next}, keys.now...)); err != nil {
		return err
	}
	c.server = httptest.NewServer(newAPI(db))
	defer c.server.Close()
	fmt.Fprintln(out, "\nAfter a change of keys old tokens still work, and new ones are issued:")
	c.call("GET", "/users/"+user.ID, "", &user)
	c.call("GET", "/users/"+user.ID, "", nil)
	return c.err
}

// changed returns a token with another last character.
func changed(token string) string {
	last := "0"
	if strings.HasSuffix(token, last) {
		last = "1"
	}
	return token[:len(token)-1] + last
}
