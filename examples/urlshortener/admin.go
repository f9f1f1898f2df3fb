package main

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

func (s *service) layout() snowflake.Layout { return s.plugin.Lease().Generator().Layout() }

// status answers GET /api/admin/status: the lease of this copy, the counters of its generator, and who holds which worker.
func (s *service) status(w http.ResponseWriter, r *http.Request) error {
	l, stats := s.plugin.Lease(), s.plugin.Lease().Generator().Stats()
	entries, err := s.leases.List(r.Context(), "")
	if err != nil {
		return err
	}
	workers := make([]map[string]any, len(entries))
	for i, e := range entries {
		until, _ := e.HorizonTime() // zero if its layout is not known here
		workers[i] = map[string]any{
			"Namespace": e.Namespace, "Worker": e.Worker, "Epoch": e.Epoch, "Held": e.Held, "Holder": e.Holder,
			"Until": until, "Expires": e.Expires,
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"layout": s.layout(), "end": s.layout().End(), "lease": l.Status(), "workers": workers,
		"stats": map[string]any{ // without Remaining, which a browser would round
			"Issued": stats.Issued, "Waits": stats.Waits, "Waited": stats.Waited, "Lead": stats.Lead, "Drift": stats.Drift,
		},
	})
}

// decode answers GET /api/admin/ids/{id}: what is in an ID, given in digits or as a code of 11 characters.
func (s *service) decode(w http.ResponseWriter, r *http.Request) error {
	text := r.PathValue("id")
	id, err := snowflake.Parse(text)
	if len(text) == len(zeros) { // an ID with so few digits would be of the first minute of the epoch
		id, err = snowflake.ParseBase62(text)
	}
	if err != nil {
		return badRequest("this is not an ID: %.50q; want digits, or a code of %d characters", text, len(zeros))
	}
	layout := s.layout()
	invalid := ""
	if err := layout.Validate(id); err != nil {
		invalid = err.Error()
	}
	fields := []map[string]any{}
	for _, f := range layout.Fields() {
		value, _ := layout.Field(id, f.Name) // there is a field of this name
		fields = append(fields, map[string]any{"name": f.Name, "bits": f.Bits, "value": strconv.FormatInt(value, 10)})
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"id": id, "base62": id.Base62(), "invalid": invalid, "time": layout.Time(id),
		"bits": fmt.Sprintf("%064b", uint64(id)), "fields": fields,
	})
}
