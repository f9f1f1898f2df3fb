package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// loads numbers the readers. The driver keeps their names for the life of the process.
var loads atomic.Int64

// Bulk uses LOAD DATA LOCAL, which the server must allow with local_infile.
func (e *mariadb) Bulk(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error {
	if !e.local {
		return fmt.Errorf("%w: the server's local_infile is off", ErrNoBulk)
	}
	// The text is complete before anything is sent, so a value that cannot be written stores no row.
	text, err := loadText(rows)
	if err != nil {
		return err
	}
	reader := "sqlflake" + strconv.FormatInt(loads.Add(1), 10)
	mysql.RegisterReaderHandler(reader, func() io.Reader { return bytes.NewReader(text) })
	defer mysql.DeregisterReaderHandler(reader)
	// Bytes are not converted: utf8mb4 for text, 16 bytes for UUIDs.
	result, err := conn.ExecContext(ctx, fmt.Sprintf(
		"LOAD DATA LOCAL INFILE 'Reader::%s' INTO TABLE %s CHARACTER SET binary (%s)",
		reader, backQuoted(table), e.words.quotedList(columns)))
	if err != nil {
		return err
	}
	// LOCAL reports only as a warning that a row was left out because its key exists, or that a value was truncated.
	var level, message string
	var code int
	err = conn.QueryRowContext(ctx, "SHOW WARNINGS LIMIT 1").Scan(&level, &code, &message)
	if err == nil {
		return fmt.Errorf("load data: %s %d: %s", level, code, message)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n != int64(len(rows)) {
		err = fmt.Errorf("load data: %d of %d rows were loaded", n, len(rows))
	}
	return err
}

// loadText writes rows in the default format of LOAD DATA: tabs, line feeds, and the backslash as escape.
func loadText(rows [][]any) ([]byte, error) {
	var text []byte
	for _, row := range rows {
		for i, value := range row {
			if i > 0 {
				text = append(text, '\t')
			}
			switch v := value.(type) {
			case int64:
				text = strconv.AppendInt(text, v, 10)
			case string:
				text = escaped(text, v)
			case []byte:
				text = escaped(text, string(v))
			case time.Time:
				text = v.UTC().AppendFormat(text, "2006-01-02 15:04:05.000000")
			default:
				return nil, fmt.Errorf("load data: no text for a value of type %T", value)
			}
		}
		text = append(text, '\n')
	}
	return text, nil
}

var loadEscapes = strings.NewReplacer("\x00", `\0`, "\t", "\\\t", "\n", "\\\n", `\`, `\\`)

func escaped(text []byte, value string) []byte { return append(text, loadEscapes.Replace(value)...) }
