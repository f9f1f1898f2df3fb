//go:build !race

package libraries

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"gopkg.in/yaml.v3"
)

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
