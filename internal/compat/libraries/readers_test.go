//go:build !race

package libraries

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-playground/form/v4"
	"github.com/go-viper/mapstructure/v2"
	"github.com/gocarina/gocsv"
	goccy "github.com/goccy/go-yaml"
	"github.com/gorilla/schema"
	"github.com/jinzhu/copier"
	"github.com/knadh/koanf/v2"
	"github.com/labstack/echo/v4"
	"github.com/spf13/viper"
	"github.com/vmihailenco/msgpack/v5"
	old "go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/v2/bson"
	yaml3 "gopkg.in/yaml.v3"
	sigs "sigs.k8s.io/yaml"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// foreign is a library that reads what other programs have written.
type foreign struct {
	name string
	read func(value, box any) error // the value of another program into a box

	texts    bool // a value travels as text, and NULL not at all
	integers bool // an ID travels as an integer, a Typed without its prefix

	mend       string                     // the README's line if it reads another ID
	mended     func(value, box any) error // reads with that line, if it is one of code
	mendedType string                     // the type that the line says to use, if it says so
}

const (
	useStrict = "`Strict`, where callers may round numbers"
	useHook   = "the hook `decodeID` below"
	sameType  = "copy between fields of one type; convert with `snowflake.ID(x)` and `Parse`"
)

var foreigners = []foreign{
	{
		name: "encoding/json", read: marshaled(json.Marshal, json.Unmarshal), mend: useStrict, mendedType: "Strict",
	},
	{
		name: "bytedance/sonic", read: marshaled(json.Marshal, sonic.Unmarshal), mend: useStrict, mendedType: "Strict",
	},
	{name: "gopkg.in/yaml.v3", read: fromYAML(yaml3.Unmarshal)},
	{
		name: "goccy/go-yaml", read: fromYAML(unmarshalGoccy), mend: "quotes around IDs: `id: \"007\"` is an error",
		mended: marshaled(quoteYAML, unmarshalGoccy),
	},
	{
		name: "sigs.k8s.io/yaml", read: fromYAML(unmarshalSigs),
		mend: "`Strict`, and quotes around IDs", mendedType: "Strict",
	},
	{name: "vmihailenco/msgpack/v5", read: marshaled(msgpack.Marshal, msgpack.Unmarshal)},
	{
		name: "mongo-driver/v2", integers: true, read: marshaled(bson.Marshal, bson.Unmarshal),
	},
	{
		name: "mongo-driver 1", integers: true, read: marshaled(old.Marshal, old.Unmarshal),
		mend: "version 2; version 1 is deprecated",
	},
	{
		name: "fxamacker/cbor/v2", integers: true, read: marshaled(cbor.Marshal, cbor.Unmarshal),
	},
	{
		name: "go-viper/mapstructure/v2", read: fromMap(nil),
		mend: useHook, mended: fromMap(decodeID),
	},
	{
		name: "mapstructure with `TextUnmarshallerHookFunc`", read: fromMap(mapstructure.TextUnmarshallerHookFunc()),
		mend: useHook, mended: fromMap(decodeID),
	},
	{name: "spf13/viper", read: fromViper(), mend: useHook, mended: fromViper(viper.DecodeHook(decodeID))},
	{name: "knadh/koanf/v2", read: fromKoanf(nil), mend: useHook, mended: fromKoanf(decodeID)},
	{
		name: "go-playground/form/v4", texts: true, read: fromForm(form.NewDecoder()),
		mend:   "`decoder.RegisterCustomTypeFunc(formID[UserID], UserID(0))` for each type",
		mended: fromForm(newFormDecoder()),
	},
	{
		name: "gorilla/schema", texts: true,
		read: func(value, box any) error { return schema.NewDecoder().Decode(box, values(value)) },
	},
	{
		name: "gin-gonic/gin", texts: true,
		read: func(value, box any) error { return binding.Query.Bind(requestFor(value), box) },
	},
	{
		name: "labstack/echo/v4", texts: true,
		read: func(value, box any) error {
			return echo.New().NewContext(requestFor(value), httptest.NewRecorder()).Bind(box)
		},
	},
	{name: "gocarina/gocsv", texts: true, read: fromCSV},
	{
		name: "jinzhu/copier", read: copyFrom, mend: sameType,
	},
}

func unmarshalGoccy(text []byte, box any) error { return goccy.Unmarshal(text, box) }
func unmarshalSigs(text []byte, box any) error  { return sigs.Unmarshal(text, box) }

// quoteYAML quotes texts, as in YAML that a program writes.
func quoteYAML(value any) ([]byte, error) { return goccy.MarshalWithOptions(value, goccy.JSON()) }

func object(value any) map[string]any { return map[string]any{"id": value} }

func values(value any) url.Values { return url.Values{"id": {value.(string)}} }

func marshaled(marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) func(value, box any) error {
	return func(value, box any) error {
		out, err := marshal(object(value))
		if err != nil {
			panic(err)
		}
		return unmarshal(out, box)
	}
}

// fromYAML writes texts without quotes, as people do.
func fromYAML(unmarshal func([]byte, any) error) func(value, box any) error {
	return func(value, box any) error {
		text := strings.Trim(fmt.Sprint(value), "[]")
		switch text {
		case "":
			text = `""`
		case "<nil>":
			text = "null"
		}

		if _, isList := value.([]any); isList {
			text = "[" + text + "]"
		}

		return unmarshal([]byte("id: "+text+"\n"), box)
	}
}

func fromMap(hook mapstructure.DecodeHookFunc) func(value, box any) error {
	return func(value, box any) error {
		decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: box, DecodeHook: hook})
		if err != nil {
			panic(err)
		}
		return decoder.Decode(object(value))
	}
}

func fromViper(options ...viper.DecoderConfigOption) func(value, box any) error {
	return func(value, box any) error {
		v := viper.New()
		v.Set("id", value)
		return v.Unmarshal(box, options...)
	}
}

func fromKoanf(hook mapstructure.DecodeHookFunc) func(value, box any) error {
	return func(value, box any) error {
		k := koanf.New(".")
		if err := k.Set("id", value); err != nil {
			panic(err)
		}
		if hook == nil {
			return k.Unmarshal("", box)
		}

		config := &mapstructure.DecoderConfig{Result: box, WeaklyTypedInput: true, DecodeHook: hook}
		return k.UnmarshalWithConf("", box, koanf.UnmarshalConf{DecoderConfig: config})
	}
}

func fromForm(decoder *form.Decoder) func(value, box any) error {
	return func(value, box any) error { return decoder.Decode(box, values(value)) }
}

func newFormDecoder() *form.Decoder {
	decoder := form.NewDecoder()
	decoder.RegisterCustomTypeFunc(formID[snowflake.ID], snowflake.ID(0))
	decoder.RegisterCustomTypeFunc(formID[sqltypes.Null], sqltypes.Null{})
	decoder.RegisterCustomTypeFunc(formID[sqltypes.Strict], sqltypes.Strict(0))
	decoder.RegisterCustomTypeFunc(formID[userID], userID(0))
	return decoder
}

func requestFor(value any) *http.Request { return request([]byte(value.(string))) }

// A CSV has a second column, since a line without text is skipped.
func fromCSV(value, box any) error {
	rows := reflect.New(reflect.SliceOf(reflect.TypeOf(box)))
	err := gocsv.UnmarshalBytes([]byte("id,x\n"+value.(string)+",\n"), rows.Interface())
	if err == nil {
		reflect.ValueOf(box).Elem().Set(rows.Elem().Index(0).Elem())
	}
	return err
}

func copyFrom(value, b any) error {
	switch value := value.(type) {
	case int64:
		return copier.Copy(b, &box[int64]{value})
	case float64:
		return copier.Copy(b, &box[float64]{value})
	case string:
		return copier.Copy(b, &box[string]{value})
	case bool:
		return copier.Copy(b, &box[bool]{value})
	case nil:
		return copier.Copy(b, &box[*int64]{})
	}

	return copier.Copy(b, &box[[]any]{value.([]any)})
}
