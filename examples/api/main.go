// API is a JSON API with GORM on net/http: api.go has the handler, this file starts and stops it. Any of its copies, at
// most 1,024 at once, answers any request: see compose.yaml and kubernetes.yaml.
//
//	go run ./examples/api
//	curl -d '{"name":"Ada"}' localhost:8080/users
package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dialector := sqlite.Open("api.db?_foreign_keys=on")
	if url := os.Getenv("DATABASE_URL"); url != "" {
		dialector = postgres.Open(url)
	}

	err := run(ctx, dialector, cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8080"))
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends. It then ends the server, the lease and the database, in this order: running requests still
// need IDs, and the lease is given back in the database.
func run(ctx context.Context, dialector gorm.Dialector, addr string) (err error) {
	db, err := gorm.Open(dialector, &gorm.Config{TranslateError: true}) // with gorm.ErrForeignKeyViolated
	if err != nil {
		return err
	}

	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	plugin, err := gormplugin.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }()

	if err := db.WithContext(ctx).AutoMigrate(&User{}, &Order{}); err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/", newAPI(db))
	mux.Handle("GET /readyz", probe(plugin.Lease().Ready))
	mux.Handle("GET /livez", probe(plugin.Lease().Healthy))
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}

	log.Printf("http://%s", listener.Addr())
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		ended <- server.Shutdown(limit)
	})

	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	return <-ended // Serve returns when Shutdown begins
}

// probe answers 503 if check returns an error. Strangers may ask, so the reason is in the log only.
func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			slog.Warn("not ready", "error", err)
			http.Error(w, "no IDs", http.StatusServiceUnavailable)
		}
	}
}
