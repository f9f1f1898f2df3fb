package processtest

import (
	"bytes"
	"testing"
)

// postgresCommitted reports whether the reply says that PostgreSQL has changed a row: CommandComplete, followed by
// ReadyForQuery outside a transaction, so after the commit:
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func postgresCommitted(reply []byte) bool {
	changed := bytes.Contains(reply, []byte("UPDATE 1\x00")) || bytes.Contains(reply, []byte("INSERT 0 1\x00"))
	return changed && bytes.HasSuffix(reply, []byte("Z\x00\x00\x00\x05I"))
}

// mysqlCommitted reports whether the reply says that MySQL or MariaDB has changed rows: an OK packet, the first reply
// to a command, whose number of affected rows is not 0. The reply to the preparation of a statement is similar but
// longer, and has the lowest byte of the statement's id in the place of that number:
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html
func mysqlCommitted(reply []byte) bool {
	const header, prepared = 4, 12 // bytes; the latter of COM_STMT_PREPARE's first packet
	if len(reply) < header+2 {
		return false
	}
	length := int(reply[0]) | int(reply[1])<<8 | int(reply[2])<<16
	return reply[3] == 1 && reply[4] == 0 && reply[5] != 0 && length != prepared && len(reply) == header+length
}

func TestProxyKnowsRepliesAboutChanges(t *testing.T) {
	for _, test := range []struct {
		name  string
		is    func([]byte) bool
		reply string
		want  bool
	}{
		{"PostgreSQL, an update of a row", postgresCommitted, "2\x00\x00\x00\x04C\x00\x00\x00\x0dUPDATE 1\x00Z\x00\x00\x00\x05I", true},
		{"PostgreSQL, an insertion", postgresCommitted, "C\x00\x00\x00\x0fINSERT 0 1\x00Z\x00\x00\x00\x05I", true},
		{"PostgreSQL, an update of none", postgresCommitted, "C\x00\x00\x00\x0dUPDATE 0\x00Z\x00\x00\x00\x05I", false},
		{"PostgreSQL, in a transaction", postgresCommitted, "C\x00\x00\x00\x0dUPDATE 1\x00Z\x00\x00\x00\x05T", false},
		{"MariaDB, an update of a row", mysqlCommitted, "\x07\x00\x00\x01\x00\x01\x00\x02\x00\x00\x00", true},
		{"MariaDB, an update of none", mysqlCommitted, "\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00", false},
		{"MariaDB, a prepared statement", mysqlCommitted, "\x0c\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00", false},
		{"MariaDB, rows", mysqlCommitted, "\x01\x00\x00\x01\x06", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.is([]byte(test.reply)); got != test.want {
				t.Errorf("committed(%q) is %t", test.reply, got)
			}
		})
	}
}
