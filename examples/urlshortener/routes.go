package main

import (
	"context"
	"embed"
	"net/http"
	"strings"
)

//go:embed static
var static embed.FS

// handler returns all routes. No route of one segment, such as /admin, has a name that may be a short code.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	for route, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{code}":                  s.redirect,
		"GET /api/links":               s.list,
		"POST /api/links":              s.shorten,
		"GET /api/links/{code}/visits": s.visits,
		"DELETE /api/links/{code}":     s.remove,
		"GET /api/admin/status":        s.status,
		"GET /api/admin/ids/{id}":      s.decode,
		"/":                            func(w http.ResponseWriter, r *http.Request) error { return noRoute(mux, w, r) },
	} {
		mux.HandleFunc(route, s.limited(handle))
	}
	for route, page := range map[string]string{"GET /{$}": "index.html", "GET /admin/{$}": "admin.html"} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, static, "static/"+page) })
	}
	mux.Handle("GET /static/", http.FileServerFS(static))
	// Other sites cannot send POST and DELETE with a visitor's browser.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeError(w, r, &problem{http.StatusForbidden, "another site has sent this request"})
	}))
	return s.secure(protection.Handler(mux))
}

// noRoute says that there is nothing at the path, or which other methods it has.
func noRoute(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) error {
	var methods []string
	for _, method := range []string{"DELETE", "GET", "HEAD", "POST"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, route := mux.Handler(other); route != "/" {
			methods = append(methods, method)
		}
	}
	if methods == nil {
		return &problem{http.StatusNotFound, "there is nothing at this path"}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return &problem{http.StatusMethodNotAllowed, "this path takes " + strings.Join(methods, ", ")}
}

// limited reads the body, ends the waits of the request after the limit, and answers with the error.
func (s *service) limited(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := readBody(w, r)
		ctx, cancel := context.WithTimeout(r.Context(), s.limit)
		defer cancel()
		if err == nil {
			err = handle(w, r.WithContext(ctx))
		}
		if err != nil {
			writeError(w, r, err)
		}
	}
}

// secure sets the headers that every answer has.
func (s *service) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
				"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer", // the target does not learn the short link
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store", // a redirect from a cache would not be counted, nor end with the link
		} {
			w.Header().Set(name, value)
		}
		if s.base.Scheme == "https" {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
