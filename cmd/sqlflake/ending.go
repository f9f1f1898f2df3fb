package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// warnEnding prints a warning if the layout of what issues IDs ends in less than two years. A lease logs one then, too.
func warnEnding(c *cobra.Command, what string, l snowflake.Layout, now time.Time) {
	switch left := l.End().Sub(now); {
	case left <= 0:
		c.PrintErrf("warning: the layout of %s has ended at %s\n", what, l.End().Format(time.RFC3339))
	case left < 2*365*24*time.Hour:
		c.PrintErrf("warning: the layout of %s ends at %s, in %d days\n", what, l.End().Format(time.RFC3339), left/(24*time.Hour))
	}
}

// warnEndings calls warnEnding for each namespace.
func warnEndings(c *cobra.Command, entries []leasestore.Entry, now time.Time) {
	for i, e := range entries {
		if i > 0 && entries[i-1].Namespace == e.Namespace {
			continue
		}
		if l, err := snowflake.ParseLayout(latest(entries[i:]).Layout); err == nil {
			warnEnding(c, "the namespace "+printable(e.Namespace), l, now)
		}
	}
}

// latest returns the entry of the first namespace that has been free for the shortest time, or is held: after a move
// others still have the layout before.
func latest(entries []leasestore.Entry) leasestore.Entry {
	found := entries[0]
	for _, e := range entries[1:] {
		if e.Namespace == found.Namespace && !e.Reserved() && (found.Reserved() || e.Expires.After(found.Expires)) {
			found = e
		}
	}
	return found
}
