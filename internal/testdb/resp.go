package testdb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const maxReply = 1 << 20 // bytes of a string, elements of a list

// resp is a client of the Redis serialization protocol, version 2, for the version check and the cleanup
// (https://redis.io/docs/latest/develop/reference/protocol-spec/). A client library would be a dependency of the root
// module.
type resp struct {
	conn net.Conn
	in   *bufio.Reader
}

// dialRESP connects. The deadline of the context applies to all commands of the connection.
func dialRESP(ctx context.Context, addr string) (*resp, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(findTimeout)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &resp{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *resp) close() { _ = c.conn.Close() }

// do sends a command and returns the reply: a string, an int64, nil or []any of these.
func (c *resp) do(args ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		return nil, err
	}
	return c.reply()
}

func (c *resp) reply() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty reply")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, errors.New(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("unexpected reply %q", line)
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case n > maxReply:
		return nil, fmt.Errorf("reply of %d bytes or elements, at most %d are read", n, maxReply)
	case kind == '$':
		data := make([]byte, n+2) // with \r\n
		if _, err := io.ReadFull(c.in, data); err != nil {
			return nil, err
		}
		return string(data[:n]), nil
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = c.reply(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("unexpected reply %q", line)
}
