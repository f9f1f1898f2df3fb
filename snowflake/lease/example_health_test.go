package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// probes answers the probes of Kubernetes. With GORM the lease is plugin.Lease().
func probes(l *lease.Lease) http.Handler {
	probe := func(check func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := check(); err != nil {
				slog.InfoContext(r.Context(), "probe", "path", r.URL.Path, "error", err)
				http.Error(w, "no IDs", http.StatusServiceUnavailable)
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", probe(l.Ready))
	mux.HandleFunc("GET /livez", probe(l.Healthy))
	return mux
}

func ExampleLease_Ready() {
	ctx := context.Background()
	slog.SetLogLoggerLevel(slog.LevelWarn)
	l, err := lease.Open(ctx, lease.NewMemory(nil)) // a program uses a database
	if err != nil {
		panic(err)
	}

	ask := func(path string) int {
		w := httptest.NewRecorder()
		probes(l).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return w.Code
	}

	fmt.Println(ask("/readyz"), ask("/livez"))
	if err := l.Close(ctx); err != nil { // the process is about to end
		panic(err)
	}

	fmt.Println(ask("/readyz"), ask("/livez"))
	// Output:
	// 200 200
	// 503 200
}
