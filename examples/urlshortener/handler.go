package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

//go:embed static
var static embed.FS

const (
	maxURL  = 4096     // bytes
	maxBody = 32 << 10 // bytes; JSON may write a character of the URL as six
)

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/links", s.limited(s.shorten))
	mux.HandleFunc("GET /api/links/{code}", s.limited(s.show))
	mux.HandleFunc("GET /{code}", s.limited(s.redirect))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, static, "static/index.html")
	})
	mux.Handle("GET /static/", http.FileServerFS(static))
	protected := http.NewCrossOriginProtection().Handler(mux) // other sites cannot send POST with a visitor's browser
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer") // the target does not learn the short link
		w.Header().Set("Cache-Control", "no-store")      // a redirect from a cache would not be counted
		protected.ServeHTTP(w, r)
	})
}

// problem is an error that the client may see.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// limited ends the waits of a request after the limit, and answers with the JSON of the value or of the error.
func (s *service) limited(handle func(http.ResponseWriter, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.limit)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, p, due := http.StatusOK, (*problem)(nil), (*snowflake.DueError)(nil)
		value, err := handle(w, r.WithContext(ctx))
		switch {
		case err == nil && value == nil: // the handler has answered
			return
		case err == nil:
		case errors.As(err, &p):
			status = p.status
		case errors.Is(err, gorm.ErrRecordNotFound):
			status, err = http.StatusNotFound, errors.New("no link has this code")
		default: // the client does not see errors of the database
			slog.Error("failed", "method", r.Method, "path", r.URL.Path, "error", err)
			status = http.StatusInternalServerError
			if ctx.Err() != nil || errors.As(err, &due) || errors.Is(err, snowflake.ErrLeaseStalled) {
				status = http.StatusServiceUnavailable
				w.Header().Set("Retry-After", "2")
			}
			err = errors.New(strings.ToLower(http.StatusText(status)))
		}
		if err != nil {
			value = map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // the client may be gone
	}
}

// shorten answers POST /api/links. The same URL gets the same code, so a request can be repeated.
func (s *service) shorten(_ http.ResponseWriter, r *http.Request) (any, error) {
	var in struct{ URL string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, &problem{http.StatusBadRequest, `the body is not {"url": "https://..."}, or too long`}
	}
	target, err := s.parseTarget(in.URL, r.Host)
	if err != nil {
		return nil, err
	}
	link, err := s.create(r.Context(), target)
	if err != nil {
		return nil, err
	}
	return map[string]any{"code": link.ID.Base62(), "short_url": s.base + "/" + link.ID.Base62(), "url": link.URL}, nil
}

// show answers GET /api/links/{code}.
func (s *service) show(_ http.ResponseWriter, r *http.Request) (any, error) {
	link, err := s.find(r.Context(), r.PathValue("code"))
	if err != nil {
		return nil, err
	}
	created := s.plugin.Lease().Generator().Layout().Time(link.ID)
	all, err := s.visits(r.Context(), link, created)
	if err != nil {
		return nil, err
	}
	day, err := s.visits(r.Context(), link, time.Now().AddDate(0, 0, -1))
	return map[string]any{"url": link.URL, "created_at": created, "visits": all, "visits_in_24_hours": day}, err
}

// redirect answers GET /{code}.
func (s *service) redirect(w http.ResponseWriter, r *http.Request) (any, error) {
	link, err := s.find(r.Context(), r.PathValue("code"))
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet { // and not HEAD
		s.visited(r.Context(), link)
	}
	http.Redirect(w, r, link.URL, http.StatusFound)
	return nil, nil
}

var unprintable = regexp.MustCompile(`[^!-~]`) // in ASCII; also the space

// parseTarget reads the URL of a new link. It returns printable ASCII, which every column and header can hold.
func (s *service) parseTarget(given, requestHost string) (string, error) {
	text := unprintable.ReplaceAllStringFunc(strings.TrimSpace(given), url.PathEscape)
	u, err := url.Parse(text)
	reason := ""
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		reason = "want a URL that begins with https:// or http:// and a host"
	case u.User != nil:
		reason = "the URL contains a user name, which hides where it leads to"
	case len(text) > maxURL:
		reason = "the URL is longer than 4096 bytes"
	case strings.EqualFold(u.Host, requestHost), strings.EqualFold(u.Scheme+"://"+u.Host, s.base):
		reason = "the URL leads to this service" // a link to itself would be a loop
	default:
		return text, nil
	}
	return "", &problem{http.StatusBadRequest, reason}
}
