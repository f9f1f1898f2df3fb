//go:build heavy && !race

package libraries

import (
	"github.com/bytedance/sonic"
	"github.com/gin-gonic/gin/binding"
	"github.com/goccy/go-json"
	"github.com/gofiber/fiber/v2"
)

func init() {
	heavy = []library{
		{
			name: "goccy/go-json", quoted: true, write: func(box any) ([]byte, error) { return json.Marshal(box) },
			read: func(out []byte, box any) error { return json.Unmarshal(out, box) },
		},
		{name: "bytedance/sonic", quoted: true, write: sonic.Marshal, read: sonic.Unmarshal},
		{name: "gin-gonic/gin", read: func(text []byte, box any) error { return binding.Query.Bind(request(text), box) }},
		{name: "gofiber/fiber/v2", read: func(text []byte, box any) error {
			app := fiber.New()
			var err error
			app.Get("/", func(c *fiber.Ctx) error {
				err = c.QueryParser(box)
				return nil
			})
			if _, err := app.Test(request(text), -1); err != nil {
				return err
			}
			return err
		}},
	}
}
