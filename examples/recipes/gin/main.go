// Gin is a JSON API with GORM on gin. IDs in paths, queries, forms and bodies are bound as they are. The link to an
// order has a token of publicid, which hides when and how fast orders are made.
//
//	go run ./gin
//	curl -d '{"user_id":"5","cents":399}' localhost:8080/orders
//
// In TypeScript: type Order = { id: string; user_id: string; cents: number }. Never call Number(id), which rounds it; a
// was created before b if BigInt(a.id) < BigInt(b.id).
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

type Order struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int" json:"id"` // the rowid on SQLite, bigint elsewhere
	UserID snowflake.ID `gorm:"index;not null" json:"user_id"`
	Cents  int64        `json:"cents"`
}

func main() {
	db, err := gorm.Open(sqlite.Open("gin.db"))
	if err != nil {
		log.Fatal(err)
	}

	plugin, err := gormplugin.Open(context.Background(), db) // leases a worker number
	if err != nil {
		log.Fatal(err)
	}

	links, err := newLinks(os.Getenv("PUBLICID_KEYS"))
	if err == nil {
		err = db.AutoMigrate(&Order{})
	}
	if err == nil {
		server := &http.Server{
			Addr: "127.0.0.1:8080", Handler: http.MaxBytesHandler(newRouter(db, links), 64<<10),
			ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		}
		err = server.ListenAndServe() // examples/api ends at a signal, with Shutdown and Close
	}

	log.Fatal(errors.Join(err, plugin.Close(context.Background())))
}

// newLinks returns the codec for the tokens in links to orders. Without keys it makes one up, and the links stop
// working when the process ends.
func newLinks(keys string) (*publicid.Codec, error) {
	if keys == "" {
		var secret [16]byte
		_, _ = rand.Read(secret[:]) // never fails
		keys = fmt.Sprintf("trial:%x", secret)
	}

	parsed, err := publicid.ParseKeys(keys)
	if err != nil {
		return nil, err
	}
	return publicid.New("order", parsed)
}

func newRouter(db *gorm.DB, links *publicid.Codec) *gin.Engine {
	r := gin.Default()
	r.ContextWithFallback = true // the context of a query ends with its request
	r.GET("/users/:id/orders", func(c *gin.Context) {
		var path struct {
			ID snowflake.ID `uri:"id"`
		}
		var query struct {
			// After is the last ID of the page before. Without it, or with an empty one, the first page is read.
			After sqltypes.Null `form:"after"`
		}

		if c.BindUri(&path) == nil && c.BindQuery(&query) == nil {
			orders := []Order{}
			page := gormplugin.Page{After: query.After.ID, Limit: 100}
			reply(c, &orders, db.WithContext(c).Clauses(page).Find(&orders, "user_id = ?", path.ID).Error)
		}
	})
	r.POST("/orders", func(c *gin.Context) {
		var body struct {
			UserID snowflake.ID `json:"user_id" binding:"required"` // a string; a number is read as well
			Cents  int64        `json:"cents"`
		}
		if c.BindJSON(&body) == nil {
			order := Order{UserID: body.UserID, Cents: body.Cents}
			err := db.WithContext(c).Create(&order).Error
			if err == nil {
				var token string
				token, err = links.Token(order.ID)
				c.Header("Location", "/orders/"+token)
			}
			reply(c, &order, err)
		}
	})
	r.GET("/orders/:token", func(c *gin.Context) {
		id, err := links.Parse(c.Param("token"))
		if err != nil {
			c.Status(http.StatusNotFound)
			return
		}

		var order Order
		reply(c, &order, db.WithContext(c).Take(&order, "id = ?", id).Error)
	})

	return r
}

func reply(c *gin.Context, value any, err error) {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		c.Status(http.StatusNotFound)
	case errors.Is(err, snowflake.ErrLeaseStalled):
		_ = c.Error(err)
		c.Header("Retry-After", "1")
		c.Status(http.StatusServiceUnavailable)
	case err != nil: // the client does not see errors of the database
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
	default:
		c.JSON(http.StatusOK, value)
	}
}
