//go:build !race

package libraries

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-viper/mapstructure/v2"
	"github.com/jmoiron/sqlx"
	"github.com/labstack/echo/v4"
	_ "github.com/mattn/go-sqlite3"
	"github.com/rs/zerolog"
	"github.com/spf13/viper"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/yaml.v3"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// others only write or only read.
var others = []library{
	{name: "log/slog", quoted: true, write: func(box any) ([]byte, error) {
		var out bytes.Buffer
		slog.New(slog.NewJSONHandler(&out, nil)).Info("", "id", field(box), "box", box, "p", fieldPointer(box))
		return withoutTime(out.Bytes()), nil
	}},
	{name: "zap", quoted: true, write: func(box any) ([]byte, error) {
		var out bytes.Buffer
		core := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(&out), zap.InfoLevel)
		zap.New(core).Info("", zap.Any("id", field(box)), zap.Any("box", box))
		return out.Bytes(), nil
	}},
	{name: "rs/zerolog", quoted: true, write: func(box any) ([]byte, error) {
		var out bytes.Buffer
		log := zerolog.New(&out)
		log.Info().Any("id", field(box)).Interface("box", box).Send()
		return out.Bytes(), nil
	}},
	{name: "fmt", write: func(box any) ([]byte, error) {
		return fmt.Appendf(nil, "%v %s %d %+v", field(box), field(box), field(box), box), nil
	}},
	{name: "html/template", write: func(box any) ([]byte, error) {
		const source = `<a href="/{{.ID}}?x={{.ID}}" id="{{.ID}}">{{.ID}}</a><script>let a = {{.ID}}</script>`
		var out bytes.Buffer
		err := template.Must(template.New("").Parse(source)).Execute(&out, box)
		return out.Bytes(), err
	}},
	{name: "flag", read: func(text []byte, box any) error {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.TextVar(fieldPointer(box).(encoding.TextUnmarshaler), "id", field(box).(encoding.TextMarshaler), "")
		return flags.Parse([]string{"-id=" + string(text)})
	}},
	{name: "labstack/echo/v4", read: func(text []byte, box any) error {
		return echo.New().NewContext(request(text), httptest.NewRecorder()).Bind(box)
	}},
	{name: "gin-gonic/gin", read: func(text []byte, box any) error { return binding.Query.Bind(request(text), box) }},
	{name: "go-viper/mapstructure/v2", read: func(text []byte, box any) error {
		// Without a hook, a text for a Null, a Typed or a token is an error.
		config := mapstructure.DecoderConfig{Result: box, DecodeHook: decodeID}
		decoder, err := mapstructure.NewDecoder(&config)
		if err != nil {
			return err
		}
		return decoder.Decode(map[string]any{"id": string(text)})
	}},
	{name: "spf13/viper", read: func(text []byte, box any) error {
		v := viper.New()
		v.Set("id", string(text))
		return v.Unmarshal(box, viper.DecodeHook(decodeID)) // as for mapstructure
	}},
}

func request(text []byte) *http.Request {
	return httptest.NewRequest(http.MethodGet, "/?id="+url.QueryEscape(string(text)), nil)
}

// withoutTime cuts the time of a log line, whose digits are no ID's.
func withoutTime(line []byte) []byte { return line[bytes.IndexByte(line, ','):] }

var encoders = []library{
	{name: "encoding/json", write: json.Marshal, read: json.Unmarshal, quoted: true},
	{name: "encoding/xml", write: xml.Marshal, read: xml.Unmarshal},
	{name: "encoding/gob", write: writeGob, read: readGob, forms: "int64 struct int64 string int64"},
	{name: "bytedance/sonic", write: sonic.Marshal, read: sonic.Unmarshal, quoted: true},
	{name: "gopkg.in/yaml.v3", write: yaml.Marshal, read: yaml.Unmarshal, quoted: true},
	{name: "mongo-driver/v2", write: bson.Marshal, read: bson.Unmarshal, forms: "int64 int64 int64 error int64"},
	{name: "fxamacker/cbor/v2", write: cbor.Marshal, read: cbor.Unmarshal, forms: "int64 struct int64 string int64"},
	{name: "vmihailenco/msgpack/v5", write: msgpack.Marshal, read: msgpack.Unmarshal},
}

func writeGob(box any) ([]byte, error) {
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(box)
	return out.Bytes(), err
}

func readGob(out []byte, box any) error { return gob.NewDecoder(bytes.NewReader(out)).Decode(box) }

// decodeID is a DecodeHook of mapstructure, viper and koanf. It reads an ID from text or an integer; a float64 has lost
// digits above 2^53.
func decodeID(from, to reflect.Type, data any) (any, error) {
	pointer := reflect.New(to)
	id, isID := reflect.TypeAssert[interface{ UnmarshalParam(text string) error }](pointer)
	if !isID || from == to {
		return data, nil
	}

	switch from.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Uint64:
		err := id.UnmarshalParam(fmt.Sprint(data))
		return pointer.Elem().Interface(), err
	}

	return nil, fmt.Errorf("want a string or an integer for a %v, got the %v %v", to, from, data)
}

// formID is a CustomTypeFunc of go-playground/form for IDs of type T.
func formID[T any, P interface {
	*T
	UnmarshalParam(text string) error
}](texts []string) (any, error) {
	var id T
	err := P(&id).UnmarshalParam(texts[0])
	return id, err
}

// forms returns what shows the number of an ID in text or in bytes, by name.
func forms(id snowflake.ID) map[string][]byte {
	n := uint64(id)
	big := binary.BigEndian.AppendUint64(nil, n)
	little := binary.LittleEndian.AppendUint64(nil, n)
	return map[string][]byte{
		"decimal digits":     []byte(id.String()),
		"hexadecimal digits": fmt.Appendf(nil, "%x", n),
		"Base 32":            []byte(id.Base32()),
		"Base 62":            []byte(id.Base62()),
		"Base64, big":        []byte(base64.RawStdEncoding.EncodeToString(big)),
		"Base64, little":     []byte(base64.RawStdEncoding.EncodeToString(little)),
		"big endian":         bytes.TrimLeft(big, "\x00"),
		"little endian":      bytes.TrimRight(little, "\x00"),
		"varint":             binary.AppendUvarint(nil, n),
		"zigzag varint":      binary.AppendVarint(nil, int64(id)),
		"gob":                bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, n<<1), "\x00"),
		"float64":            fmt.Appendf(nil, "%g", float64(id)),
	}
}

// shown returns the forms of the number in the output of a library. Only an ID of many digits can be told from other
// output.
func shown(id snowflake.ID, out []byte) []string {
	if id < 1<<53 {
		return nil
	}

	var names []string
	for name, form := range forms(id) {
		if bytes.Contains(out, form) {
			names = append(names, name)
		}
	}

	slices.Sort(names)
	return names
}

// The remedy for NULL, and why it isn't a pointer.
func TestANullIsAnArgumentOfBuilders(t *testing.T) {
	db := sqlx.MustOpen("sqlite3", "file:null?mode=memory&cache=shared")
	defer db.Close()

	db.MustExec("CREATE TABLE orders (id bigint, parent bigint)")
	db.MustExec("INSERT INTO orders VALUES (?, ?), (?, ?)", number, sqltypes.Null{}, number+1,
		sqltypes.NullFrom(number))

	const query = "SELECT id FROM orders WHERE parent IS ? AND id IN (?)"
	ids := []snowflake.ID{number, number + 1}
	for parent, want := range map[sqltypes.Null]snowflake.ID{{}: number, sqltypes.NullFrom(number): number + 1} {
		query, args, err := sqlx.In(query, parent, ids)
		var found []snowflake.ID
		if err == nil {
			err = db.Select(&found, query, args...)
		}
		if err != nil || len(found) != 1 || found[0] != want {
			t.Errorf("with the parent %v found %v, %v, want %d", parent, found, err, want)
		}
	}

	defer func() {
		if recover() == nil {
			t.Error("sqlx.In does not panic at a nil *ID any more: say so in README.md, snowflake.ID.Scan and its errors")
		}
	}()

	_, _, _ = sqlx.In(query, (*snowflake.ID)(nil), ids)
}
