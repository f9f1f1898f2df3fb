package processtest

import "bytes"

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
