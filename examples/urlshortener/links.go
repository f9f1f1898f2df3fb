package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

const maxBody = 32 << 10 // bytes; JSON may write a character of the URL as six

// linkJSON is what a visitor sees of a link. The ID is not in it: an opaque code hides it.
type linkJSON struct {
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
	URL      string `json:"url"`
	Created  bool   `json:"created,omitzero"` // by this request
}

func (s *service) show(l *Link) (linkJSON, error) {
	code, err := s.codes.code(l)
	return linkJSON{Code: code, ShortURL: s.base.String() + "/" + code, URL: l.URL}, err
}

// shorten answers POST /api/links.
func (s *service) shorten(w http.ResponseWriter, r *http.Request) error {
	given, err := readURL(r)
	if err != nil {
		return err
	}
	target, host, err := parseTarget(given)
	if err != nil {
		return err
	}
	if s.leadsHere(host, r) {
		return badRequest("the URL leads to this service: %.200q", target)
	}
	hash := sha256.Sum256([]byte(target))
	link := &Link{Hash: hash[:], URL: target}
	if err := s.create(r.Context(), link); err != nil {
		return err
	}
	out, err := s.show(link)
	if err != nil {
		return err
	}
	if out.Created = link.ID == link.drawn; out.Created {
		return writeJSON(w, http.StatusCreated, out)
	}
	return writeJSON(w, http.StatusOK, out)
}

// create stores the link, or finds the row of the same URL: the plugin puts the key of that row into the link. The UPDATE
// changes nothing; after DO NOTHING the database would not return the row.
func (s *service) create(ctx context.Context, l *Link) error {
	short, ok := s.codes.(shortCodes)
	err := again(func() error {
		db := s.db.WithContext(ctx).Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "hash"}},
			DoUpdates: clause.AssignmentColumns([]string{"hash"}),
		})
		if !ok {
			db = db.Omit("Number")
		}
		if err := db.Create(l).Error; err != nil || l.ID != 0 {
			return err
		}
		return errVanished
	})
	if err != nil || l.Number != 0 || !ok {
		return err
	}
	// A copy with codes of another kind has made the link since this one started.
	return errors.Join(short.number(ctx), s.db.WithContext(ctx).Take(l, l.ID).Error)
}

// find returns the link of a code.
func (s *service) find(ctx context.Context, code string) (*Link, error) {
	where, ok := s.codes.find(code)
	if !ok {
		return nil, gorm.ErrRecordNotFound // without a query
	}
	link := new(Link)
	return link, s.db.WithContext(ctx).Where(where).Take(link).Error
}

// redirect answers GET /{code} and counts the visit.
func (s *service) redirect(w http.ResponseWriter, r *http.Request) error {
	link, err := s.find(r.Context(), r.PathValue("code"))
	if errors.Is(err, gorm.ErrRecordNotFound) && r.URL.Path == "/admin" { // which may be a short code
		http.Redirect(w, r, "/admin/", http.StatusFound)
		return nil
	}
	if err != nil {
		return err
	}
	if target, err := url.Parse(link.URL); err != nil || s.leadsHere(target.Host, r) { // under a name that it has got since
		return &problem{http.StatusLoopDetected, "the link leads to this service"}
	}
	if r.Method == http.MethodGet { // and not HEAD
		ctx, cancel := context.WithTimeout(r.Context(), s.limit/5) // nobody waits longer to be counted
		defer cancel()
		// A visit during the deletion of its link may stay without one. A foreign key would prevent that, and check each.
		if err := s.db.WithContext(ctx).Create(&Visit{LinkID: link.ID}).Error; err != nil {
			slog.Warn("a visit was not counted", "link", link.ID, "error", err)
		}
	}
	http.Redirect(w, r, link.URL, http.StatusFound)
	return nil
}

// remove answers DELETE /api/links/{code}. The code is never issued again, not even for the same URL.
func (s *service) remove(w http.ResponseWriter, r *http.Request) error {
	link, err := s.find(r.Context(), r.PathValue("code"))
	if err != nil {
		return err
	}
	err = again(func() error {
		return s.db.WithContext(r.Context()).Transaction(func(tx *gorm.DB) error {
			result := tx.Delete(&Link{}, link.ID)
			if result.Error == nil && result.RowsAffected == 0 { // another request was faster
				return gorm.ErrRecordNotFound
			}
			return errors.Join(result.Error, tx.Where("link_id = ?", link.ID).Delete(&Visit{}).Error)
		})
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// readBody replaces the body by one that has arrived.
func readBody(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.As(err, new(*http.MaxBytesError)) {
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err != nil { // within ReadTimeout
		return &problem{http.StatusRequestTimeout, "the body did not arrive in time, or not as a whole"}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// readURL reads {"url": text}. Unmarshal would replace bytes that are not UTF-8.
func readURL(r *http.Request) (string, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return "", &problem{http.StatusUnsupportedMediaType, "the Content-Type must be application/json"}
	}
	var in struct{ URL string }
	if body, err := io.ReadAll(r.Body); err != nil || !utf8.Valid(body) || json.Unmarshal(body, &in) != nil {
		return "", badRequest(`the body is not {"url": "https://..."} in UTF-8`)
	}
	return in.URL, nil
}
