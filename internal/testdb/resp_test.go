package testdb_test

import (
	"reflect"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestReplyIsParsed(t *testing.T) {
	for _, tt := range []struct {
		reply string
		want  any
	}{
		{"+OK\r\n", "OK"},
		{":-5\r\n", int64(-5)},
		{"$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"$0\r\n\r\n", ""},
		{"$-1\r\n", nil},
		{"*2\r\n$1\r\n0\r\n*1\r\n:7\r\n", []any{"0", []any{int64(7)}}},
		{"*0\r\n", []any{}},
	} {
		if got, err := testdb.ParseReply(tt.reply); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("reply %q: %v, error %v, want %v", tt.reply, got, err, tt.want)
		}
	}
}

func TestMalformedReplyIsAnError(t *testing.T) {
	for _, reply := range []string{
		"", "+OK", "\r\n", "?\r\n", "$x\r\n", "$5\r\nabc\r\n", "*2\r\n:1\r\n", "$99999999999\r\n", "*99999999999\r\n", "%1\r\n",
		"-NOAUTH Authentication required.\r\n",
	} {
		if got, err := testdb.ParseReply(reply); err == nil {
			t.Errorf("reply %q: %v, want an error", reply, got)
		}
	}
}
