//go:build !race

package libraries

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"reflect"

	"github.com/BurntSushi/toml"
	"github.com/fxamacker/cbor/v2"
	"github.com/go-playground/form/v4"
	"github.com/gocarina/gocsv"
	"github.com/goccy/go-yaml"
	"github.com/gorilla/schema"
	jsoniter "github.com/json-iterator/go"
	pelletier "github.com/pelletier/go-toml/v2"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	yamlv3 "gopkg.in/yaml.v3"
)

// heavy has the libraries that take long to compile.
var heavy []library

func all() []library { return append(append(append([]library{}, encoders...), others...), heavy...) }

var encoders = []library{
	{name: "encoding/json", write: json.Marshal, read: json.Unmarshal, quoted: true},
	{
		name: "json-iterator/go", quoted: true,
		write: jsoniter.ConfigCompatibleWithStandardLibrary.Marshal,
		read:  jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal,
	},
	{name: "encoding/xml", write: xml.Marshal, read: xml.Unmarshal},
	{name: "gopkg.in/yaml.v3", write: yamlv3.Marshal, read: yamlv3.Unmarshal, quoted: true},
	{
		name: "goccy/go-yaml", quoted: true,
		write: yaml.Marshal,
		read:  yaml.Unmarshal,
	},
	{name: "BurntSushi/toml", write: toml.Marshal, read: toml.Unmarshal, quoted: true},
	{name: "pelletier/go-toml/v2", write: pelletier.Marshal, read: pelletier.Unmarshal, quoted: true},
	{name: "gocarina/gocsv", write: writeCSV, read: readCSV},
	{name: "encoding/gob", write: writeGob, read: readGob},
	{
		name:  "vmihailenco/msgpack/v5",
		write: msgpack.Marshal,
		read:  msgpack.Unmarshal,
	},
	{name: "fxamacker/cbor/v2", write: cbor.Marshal, read: cbor.Unmarshal},
	{name: "mongo-driver/v2/bson", write: bson.Marshal, read: bson.Unmarshal},
	{
		name: "gorilla/schema", function: "gorillaSchema",
		write: writeSchema(schema.NewEncoder()), read: readSchema(schema.NewDecoder()),
		line: &library{write: writeSchema(gorillaSchema()), read: readSchema(schema.NewDecoder())},
	},
	{
		name: "go-playground/form/v4", function: "playgroundForm",
		write: writeForm(form.NewEncoder()), read: readForm(form.NewDecoder()),
		line: func() *library {
			encoder, decoder := playgroundForm()
			return &library{write: writeForm(encoder), read: readForm(decoder)}
		}(),
	},
}

// gocsv writes slices.
func writeCSV(box any) ([]byte, error) {
	rows := reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(box)), 0, 1)
	return gocsv.MarshalBytes(reflect.Append(rows, reflect.ValueOf(box)).Interface())
}

func readCSV(out []byte, box any) error {
	rows := reflect.New(reflect.SliceOf(reflect.TypeOf(box)))
	if err := gocsv.UnmarshalBytes(out, rows.Interface()); err != nil {
		return err
	}
	if rows.Elem().Len() > 0 { // NULL alone is an empty line, which encoding/csv skips
		reflect.ValueOf(box).Elem().Set(rows.Elem().Index(0).Elem())
	}
	return nil
}

func writeGob(box any) ([]byte, error) {
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(box)
	return out.Bytes(), err
}

func readGob(out []byte, box any) error { return gob.NewDecoder(bytes.NewReader(out)).Decode(box) }

func writeSchema(encoder *schema.Encoder) func(any) ([]byte, error) {
	return func(box any) ([]byte, error) {
		values := url.Values{}
		err := encoder.Encode(box, values)
		return []byte(values.Encode()), err
	}
}

func readSchema(decoder *schema.Decoder) func([]byte, any) error {
	return func(out []byte, box any) error {
		values, err := url.ParseQuery(string(out))
		if err != nil {
			return err
		}
		return decoder.Decode(box, values)
	}
}

func writeForm(encoder *form.Encoder) func(any) ([]byte, error) {
	return func(box any) ([]byte, error) {
		values, err := encoder.Encode(box)
		return []byte(values.Encode()), err
	}
}

func readForm(decoder *form.Decoder) func([]byte, any) error {
	return func(out []byte, box any) error {
		values, err := url.ParseQuery(string(out))
		if err != nil {
			return err
		}
		return decoder.Decode(box, values)
	}
}
