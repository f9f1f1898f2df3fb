package snowflake_test

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// textReaders are the methods that read the text of an ID into an ID.
var textReaders = map[string]func(id *snowflake.ID, text string) error{
	"UnmarshalText":  func(id *snowflake.ID, text string) error { return id.UnmarshalText([]byte(text)) },
	"UnmarshalParam": func(id *snowflake.ID, text string) error { return id.UnmarshalParam(text) },
	"Scan string":    func(id *snowflake.ID, text string) error { return id.Scan(text) },
	"Scan []byte":    func(id *snowflake.ID, text string) error { return id.Scan([]byte(text)) },
}

func TestTextReadersTakeWhatStringPrints(t *testing.T) {
	for name, read := range textReaders {
		for text, want := range acceptedTexts {
			id := snowflake.ID(42)
			if err := read(&id, text); id != want || err != nil {
				t.Errorf("%s(%q) = %d, %v, want %d", name, text, id, err, want)
			}
		}
	}
}

func TestTextReadersRefuseOtherTextAndKeepTheID(t *testing.T) {
	for name, read := range textReaders {
		for text, want := range refusedTexts {
			id := snowflake.ID(42)
			err := read(&id, text)
			wantError(t, name+" of "+strconv.Quote(text), err, want)
			if id != 42 {
				t.Errorf("%s(%q) changed the ID to %d on an error", name, text, id)
			}
		}
	}
}

func TestIDIsAFlag(t *testing.T) {
	var id snowflake.ID
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&id, "id", snowflake.ID(7), "an ID")
	if err := flags.Parse(nil); id != 7 || err != nil {
		t.Errorf("default: %d, %v, want 7", id, err)
	}
	if err := flags.Parse([]string{"-id", "1234567890123456789"}); id != 1234567890123456789 || err != nil {
		t.Errorf("-id: %d, %v", id, err)
	}
	if err := flags.Parse([]string{"-id", "007"}); err == nil {
		t.Error("-id 007: no error")
	}
}

func TestLogsHoldTheIDAsAString(t *testing.T) {
	id := snowflake.ID(9007199254740993)
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("made", "id", id)
	if !strings.Contains(out.String(), `"id":"9007199254740993"`) {
		t.Errorf("JSON log: %s", &out)
	}
	if v := id.LogValue(); v.Kind() != slog.KindString || v.String() != "9007199254740993" {
		t.Errorf("LogValue() = %v of kind %v, want a string", v, v.Kind())
	}
}
