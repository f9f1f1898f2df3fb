package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// User is a row and its JSON. In TypeScript: type User = { id: string; name: string; orders?: Order[] }. Never call
// Number(id), which rounds it; a was created before b if BigInt(a.id) < BigInt(b.id).
type User struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int" json:"id"` // the rowid on SQLite, bigint elsewhere
	Name   string       `json:"name"`
	Orders []Order      `json:"orders,omitempty"`
}

// Order is a row and its JSON.
type Order struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int" json:"id"`
	UserID snowflake.ID `gorm:"index;not null" json:"user_id"`
	Cents  int64        `json:"cents"`
}

// newAPI returns the handler. It decodes no body into a model: Create would keep an ID that the client has chosen.
func newAPI(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Name string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		user := User{Name: body.Name}
		reply(w, &user, db.WithContext(r.Context()).Create(&user).Error) // Create sets user.ID
	})
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := snowflake.Parse(r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		var user User
		reply(w, &user, db.WithContext(r.Context()).Preload("Orders").Take(&user, id).Error)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			UserID snowflake.ID `json:"user_id"` // "250263666560077824"; a number is read as well
			Cents  int64
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		order := Order{UserID: body.UserID, Cents: body.Cents}
		reply(w, &order, db.WithContext(r.Context()).Create(&order).Error)
	})

	return http.MaxBytesHandler(mux, 64<<10)
}

func reply(w http.ResponseWriter, value any, err error) {
	var due *snowflake.DueError

	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, gorm.ErrForeignKeyViolated):
		http.Error(w, "not found", http.StatusNotFound)
	case errors.Is(err, snowflake.ErrLeaseStalled), errors.As(err, &due):
		slog.Warn("no ID", "error", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "try again", http.StatusServiceUnavailable)
	case err != nil: // the client does not see errors of the database
		slog.Error("request failed", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client may be gone
	}
}
