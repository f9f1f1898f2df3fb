// Publicid is a JSON API that shows tokens only and accepts no numbers. The table has the Snowflake key in an integer
// column and no column for the token. The environment variable PUBLICID_KEYS has the keys ("2026a:" and 32 hexadecimal
// digits); tokens live as long as their key.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

var errBody = errors.New("bad JSON, or too long")

var users *publicid.Codec // set by open

type userKind struct{}

func (userKind) Codec() *publicid.Codec { return users }

// UserID is bigint in the database and a token everywhere else.
type UserID = publicid.ID[userKind]

// User is a row and its JSON.
type User struct {
	ID   UserID `gorm:"primaryKey;type:int;size:64" json:"id"` // the rowid on SQLite
	Name string `json:"name"`
}

// newAPI returns the handler. Requests have their own type: Create would store a key that a client has sent.
func newAPI(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", serve(func(r *http.Request) (any, error) {
		var in struct {
			Name string `json:"name"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, fmt.Errorf("%w: %w", errBody, err)
		}
		user := User{Name: in.Name}
		return &user, db.WithContext(r.Context()).Create(&user).Error
	}))
	mux.HandleFunc("GET /users/{id}", serve(func(r *http.Request) (any, error) {
		id, err := publicid.ParseID[userKind](r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		var user User
		return &user, db.WithContext(r.Context()).First(&user, id).Error
	}))
	return http.MaxBytesHandler(mux, 64<<10)
}

// serve answers with the value as JSON, or with the status of the error. An invalid token gets the same answer as a
// missing row, so that the answer does not tell them apart.
func serve(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := handle(r)
		status := http.StatusOK
		switch {
		case err == nil:
		case errors.Is(err, publicid.ErrToken), errors.Is(err, gorm.ErrRecordNotFound):
			status, value = http.StatusNotFound, map[string]string{"error": "not found"}
		case errors.Is(err, errBody):
			status, value = http.StatusBadRequest, map[string]string{"error": "bad JSON"}
		default: // a service logs it; the client does not see errors of the database
			status, value = http.StatusInternalServerError, map[string]string{"error": "internal"}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // the client may be gone
	}
}

func main() {
	keys := os.Getenv("PUBLICID_KEYS")
	if temporary, err := publicid.GenerateKey("temporary"); keys == "" && err == nil {
		log.Print("PUBLICID_KEYS is not set: all tokens are lost when the program ends")
		keys = temporary.Reveal()
	}
	gen, err := snowflake.New(1) // for several processes, gormplugin.Open leases the worker numbers
	if err != nil {
		log.Fatal(err)
	}
	api, err := open(sqlite.Open("publicid.db"), gen, keys)
	if err != nil {
		log.Fatal(err)
	}
	log.Print(`now: curl -d '{"name":"Ada"}' http://127.0.0.1:8080/users`)
	const limit = 10 * time.Second
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: api, ReadTimeout: limit, WriteTimeout: limit}
	log.Fatal(server.ListenAndServe())
}

// open sets the codec, which must not change while the handler serves.
func open(dialector gorm.Dialector, gen gormplugin.Generator, keys string) (http.Handler, error) {
	list, err := publicid.ParseKeys(keys)
	if err != nil {
		return nil, err
	}
	if users, err = publicid.New("user", list); err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen)) // GORM logs numbers
	if err != nil {
		return nil, err
	}
	return newAPI(db), db.AutoMigrate(&User{})
}
