//go:build !race

package libraries

import (
	"bytes"
	"encoding"
	"flag"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/gin-gonic/gin/binding"
	"github.com/go-viper/mapstructure/v2"
	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"
	"github.com/spf13/viper"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
