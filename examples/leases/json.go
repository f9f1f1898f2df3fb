package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// entry is a lease as JSON.
type entry struct {
	Namespace string     `json:"namespace"`
	Worker    int64      `json:"worker"`
	Held      bool       `json:"held"`
	Epoch     int64      `json:"epoch"`
	Horizon   int64      `json:"horizon"` // ticks since the layout's epoch
	Until     *time.Time `json:"until,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
	Layout    string     `json:"layout"`
	Host      string     `json:"host,omitempty"`
	PID       int        `json:"pid,omitempty"`
	Version   string     `json:"version,omitempty"`
}

func writeJSON(out io.Writer, entries []lease.Entry) error {
	list := make([]entry, len(entries))
	for i, e := range entries {
		list[i] = entry{
			Namespace: e.Namespace, Worker: e.Worker, Held: e.Held, Epoch: e.Epoch, Horizon: e.Horizon, Layout: e.Layout,
			Host: e.Holder.Host, PID: e.Holder.PID, Version: e.Holder.Version,
		}
		if until, ok := e.HorizonTime(); ok && e.Horizon > 0 {
			list[i].Until = &until
		}
		if !e.Expires.IsZero() {
			list[i].Expires = &e.Expires
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}
