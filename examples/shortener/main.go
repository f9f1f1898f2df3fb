// Shortener makes short links, whose codes are keys in Base62. Copies may share a database: go run ./examples/shortener
// -h
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

//go:embed index.html
var page embed.FS

type link struct {
	gormplugin.Model
	URL string `gorm:"size:2000;not null"`
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	dsn := flag.String("db", "shortener.db", "SQLite `file`, postgres://user@host/db, or user:password@tcp(host)/db")
	flag.Parse()

	dialector, layout := sqlite.Open(*dsn), snowflake.Default()
	if strings.HasPrefix(*dsn, "postgres://") {
		dialector = postgres.Open(*dsn)
	} else if strings.Contains(*dsn, "@") {
		dialector, layout = mysql.Open(*dsn), snowflake.Clustered()
	}

	db, err := gorm.Open(dialector)
	if err == nil && db.AutoMigrate(&link{}) != nil { // perhaps another copy has just created the table
		err = db.AutoMigrate(&link{})
	}
	if err != nil {
		log.Fatal(err)
	}

	plugin, err := gormplugin.Open(context.Background(), db, gormplugin.WithLayout(layout)) // leases a worker number
	if err != nil {
		log.Fatal(err)
	}
	defer plugin.Close(context.Background()) // gives it back

	server := &http.Server{Addr: *addr, Handler: newHandler(db)} // examples/api has timeouts, and ends its requests
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer context.AfterFunc(ctx, func() { stop(); _ = server.Close() })()

	log.Print("http://", *addr)
	log.Print(server.ListenAndServe())
}

func newHandler(db *gorm.DB) http.Handler {
	// It refuses javascript: and other schemes.
	web := regexp.MustCompile(`^https?://[^\pZ\pC/?#\x{FFFD}]+[^\pZ\pC\x{FFFD}]*$`)
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.FileServerFS(page))
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) {
		l := link{URL: r.FormValue("url")}
		if !web.MatchString(l.URL) || len(l.URL) > 2000 {
			http.Error(w, "A link begins with http:// or https:// and has at most 2000 bytes.", http.StatusBadRequest)
		} else if err := db.WithContext(r.Context()).Create(&l).Error; !failed(w, err) { // Create sets l.ID
			fmt.Fprintf(w, "http://%s/%s\n", r.Host, l.ID.Base62())
		}
	})
	mux.HandleFunc("GET /{code}", func(w http.ResponseWriter, r *http.Request) {
		var l link
		id, _ := snowflake.ParseBase62(r.PathValue("code")) // 0 if it is no code: no link has this key
		if err := db.WithContext(r.Context()).Select("url").Take(&l, "id = ?", id).Error; !failed(w, err) {
			http.Redirect(w, r, l.URL, http.StatusFound)
		}
	})

	return http.MaxBytesHandler(mux, 16<<10)
}

func failed(w http.ResponseWriter, err error) bool {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		http.Error(w, "there is no such link", http.StatusNotFound)
	case errors.Is(err, snowflake.ErrLeaseStalled):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "try again in a second", http.StatusServiceUnavailable)
	case err != nil:
		log.Print(err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	}

	return err != nil
}
