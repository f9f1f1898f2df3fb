package main

import (
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

//go:embed page
var files embed.FS

// newHandler serves the page and the API. now is the time of the millisecond whose IDs are counted.
func newHandler(db *gorm.DB, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/page/", http.StatusFound))
	mux.Handle("GET /page/", http.FileServerFS(files))
	mux.HandleFunc("POST /api/users", answer(func(r *http.Request) (any, error) { return nil, createUsers(db.WithContext(r.Context())) }))
	mux.HandleFunc("GET /api/{kind}/users", answer(func(r *http.Request) (any, error) {
		list, err := newestUsers(db.WithContext(r.Context()))
		views := make([]view, len(list))
		for i, user := range list {
			views[i] = viewOf(r.PathValue("kind"), user)
		}
		return views, err
	}))
	mux.HandleFunc("GET /api/{kind}/users/{id}", answer(func(r *http.Request) (any, error) {
		user, err := findUser(db.WithContext(r.Context()), r.PathValue("kind"), r.PathValue("id"))
		return viewOf(r.PathValue("kind"), user), err
	}))
	mux.HandleFunc("GET /api/milliseconds", answer(func(*http.Request) (any, error) { return milliseconds(now()) }))
	return http.NewCrossOriginProtection().Handler(mux) // other sites cannot create users with a visitor's browser
}

type view struct {
	ID   any    `json:"id"`
	Name string `json:"name"`
}

// viewOf returns what the API sends. A defined type, such as type UserID snowflake.ID, is a number like an int64.
func viewOf(kind string, u User) view {
	return view{map[string]any{"numbers": u.ID.Int64(), "strings": u.ID, "safe": u.Number}[kind], u.Name}
}

// millisecond has all IDs of one worker in a millisecond, as JSON numbers.
type millisecond struct {
	Layout    string    `json:"layout"`
	Epoch     time.Time `json:"epoch"`
	End       time.Time `json:"end"`
	BelowTime int       `json:"below_time"` // bits
	IDs       []int64   `json:"ids"`
}

func milliseconds(now time.Time) (list []millisecond, err error) {
	for i, l := range []snowflake.Layout{snowflake.Default(), snowflake.MustPreset("twitter"), snowflake.MustPreset("javascriptsafe")} {
		name := []string{"Default", "Twitter", "JavaScriptSafe"}[i]
		first, err := l.MinAt(now)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, l.MaxSequence()+1)
		for n := range ids { // the sequence is the lowest field of all three
			ids[n] = first.Int64() + int64(n)
		}
		list = append(list, millisecond{name, l.Epoch(), l.End(), l.Bits() - l.Fields()[0].Bits, ids})
	}
	return list, nil
}

func answer(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := handle(r)
		status := http.StatusOK
		if errors.Is(err, gorm.ErrRecordNotFound) {
			status, value = http.StatusNotFound, map[string]string{"error": "not found"}
		} else if err != nil { // a real program would log it
			status, value = http.StatusInternalServerError, map[string]string{"error": "internal"}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
}
