package main

import (
	"net/http"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

const days = 14 // of visits, today included

// listedJSON is what the operator sees of a link. An ID is a string in JSON, since JavaScript would round a number.
type listedJSON struct {
	linkJSON
	ID        snowflake.ID `json:"id"`
	CreatedAt time.Time    `json:"created_at"`
}

// list answers GET /api/links?after=ID&limit=N: the newest links, and those before the ID "after".
func (s *service) list(w http.ResponseWriter, r *http.Request) (err error) {
	page := gormplugin.Page{Limit: 20, Desc: true}
	if text := r.FormValue("after"); text != "" {
		if page.After, err = snowflake.Parse(text); err != nil {
			return badRequest("after=%.50s is not an ID", text)
		}
	}
	if text := r.FormValue("limit"); text != "" {
		if page.Limit, err = strconv.Atoi(text); err != nil || page.Limit < 1 || page.Limit > 100 {
			return badRequest("limit=%.50s is not a number from 1 to 100", text)
		}
	}
	links, err := gorm.G[Link](s.db, page).Find(r.Context())
	if err != nil {
		return err
	}
	shown := make([]listedJSON, len(links))
	for i := range links {
		one, err := s.show(&links[i])
		if err != nil {
			return err
		}
		shown[i] = listedJSON{one, links[i].ID, s.layout().Time(links[i].ID)}
	}
	answer := map[string]any{"kind": s.config.codes, "links": shown}
	next, more, err := gormplugin.NextPage(page, links, func(l Link) snowflake.ID { return l.ID })
	if err != nil {
		return err
	}
	if more {
		answer["next"] = next.After
	}
	return writeJSON(w, http.StatusOK, answer)
}

// visits answers GET /api/links/{code}/visits: how many on each of the last days, in UTC. The days are ranges of the
// key of the visits, which has no other column for the time.
func (s *service) visits(w http.ResponseWriter, r *http.Request) error {
	link, err := s.find(r.Context(), r.PathValue("code"))
	if err != nil {
		return err
	}
	counts := []map[string]any{}
	for from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days); len(counts) < days; from = from.AddDate(0, 0, 1) {
		ofDay := gormplugin.CreatedBetween(from, from.AddDate(0, 0, 1))
		n, err := gorm.G[Visit](s.db).Where("link_id = ?", link.ID).Where(ofDay).Count(r.Context(), "*")
		if err != nil {
			return err
		}
		counts = append(counts, map[string]any{"day": from.Format(time.DateOnly), "visits": n})
	}
	return writeJSON(w, http.StatusOK, map[string]any{"code": r.PathValue("code"), "days": counts})
}
