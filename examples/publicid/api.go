package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

const maxBody = 64 << 10 // bytes

// newAPI returns the handler. The types of the models read and write the tokens; only tokens in paths are parsed here.
// Requests have types of their own, since Create would store a key that a client has sent.
func newAPI(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", serve(http.StatusCreated, func(r *http.Request) (any, error) {
		var in struct {
			Name string `json:"name"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		user := User{Name: in.Name}
		return &user, db.WithContext(r.Context()).Create(&user).Error
	}))
	mux.HandleFunc("GET /users/{id}", serve(http.StatusOK, func(r *http.Request) (any, error) {
		id, err := publicid.ParseID[userKind](r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		var user User
		return &user, db.WithContext(r.Context()).Preload("Orders", newest).First(&user, id).Error
	}))
	mux.HandleFunc("POST /orders", serve(http.StatusCreated, func(r *http.Request) (any, error) {
		var in struct {
			UserID  UserID `json:"user_id"`
			Article string `json:"article"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		if err := db.WithContext(r.Context()).First(&User{}, in.UserID).Error; err != nil {
			return nil, err
		}
		order := Order{UserID: in.UserID, Article: in.Article}
		return &order, db.WithContext(r.Context()).Create(&order).Error
	}))
	return mux
}

// newest bounds the answer; gormplugin.Page has the next ones.
func newest(db *gorm.DB) *gorm.DB { return db.Clauses(gormplugin.Page{Limit: 100, Desc: true}) }

// serve answers with the value as JSON, or with the status of the error. An invalid token gets the same answer as a
// missing row, so that the answer does not tell them apart.
func serve(success int, handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		value, err := handle(r)
		status, text := success, []byte(nil)
		if err == nil {
			text, err = json.Marshal(value)
		}
		switch {
		case err == nil:
		case errors.Is(err, publicid.ErrToken), errors.Is(err, gorm.ErrRecordNotFound):
			status, text = http.StatusNotFound, []byte(`{"error":"not found"}`)
		case isBadJSON(err):
			status, text = http.StatusBadRequest, []byte(`{"error":"bad JSON"}`)
		default: // a real program would log it
			status, text = http.StatusInternalServerError, []byte(`{"error":"internal"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

// isBadJSON reports whether the body was not JSON, JSON of another type, or too long.
func isBadJSON(err error) bool {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &wrongType) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*http.MaxBytesError))
}
