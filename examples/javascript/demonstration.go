package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"gorm.io/gorm"
)

// result is what page/demonstration.js returns.
type result struct {
	Engine string  `json:"engine"`
	Links  []link  `json:"links"`
	Counts []count `json:"counts"`
}

type link struct {
	Kind  string `json:"kind"` // in which form the ID is sent
	User  string `json:"user"`
	Sent  string `json:"sent"`  // the ID in the text of the answer
	Read  string `json:"read"`  // the ID after JSON.parse, which is in the link
	Opens string `json:"opens"` // the name of the user that the link opens, or 404
}

type count struct {
	Layout  string `json:"layout"`
	IDs     int    `json:"ids"`     // of one worker in a millisecond
	Numbers int    `json:"numbers"` // that the IDs are after JSON.parse
	Since   string `json:"since"`   // when IDs are above 2^53, or never
}

// inNode runs the demonstration in node.
func inNode(ctx context.Context, node, base string) (r result, err error) {
	script, err := files.ReadFile("page/demonstration.js")
	if err != nil {
		return r, err
	}
	script = append(script, "console.log(JSON.stringify(await demonstrate(process.argv[2])))"...)
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "-", base)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(script), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("node: %w", err)
	}
	return r, json.Unmarshal(out, &r)
}

// inGo does the same in Go. In a value of type any a JSON number becomes a float64, which is the number of JavaScript,
// and which Go encodes with the digits that JavaScript prints.
func inGo(db *gorm.DB, now time.Time) (r result, err error) {
	list, err := newestUsers(db)
	if err != nil {
		return r, err
	}
	for _, kind := range []string{"numbers", "strings", "safe"} {
		for _, user := range list {
			var id any
			sent, _ := json.Marshal(viewOf(kind, user).ID) // an integer or an ID, which cannot fail
			_ = json.Unmarshal(sent, &id)
			read, _ := json.Marshal(id)
			l := link{kind, user.Name, strings.Trim(string(sent), `"`), strings.Trim(string(read), `"`), "404"}
			user, err := findUser(db, kind, l.Read)
			if err == nil {
				l.Opens = user.Name
			} else if !errors.Is(err, gorm.ErrRecordNotFound) {
				return r, err
			}
			r.Links = append(r.Links, l)
		}
	}
	all, err := milliseconds(now)
	for _, m := range all {
		distinct := map[float64]bool{}
		for _, id := range m.IDs {
			distinct[float64(id)] = true
		}
		c := count{m.Layout, len(m.IDs), len(distinct), "never"}
		if since := m.Epoch.Add(time.Millisecond << (53 - m.BelowTime)); since.Before(m.End) {
			c.Since = since.Format("2006-01-02T15:04:05.000Z")
		}
		r.Counts = append(r.Counts, c)
	}
	return r, err
}

func (r result) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "Two users made in one millisecond, read by %s:\n\nIDS ARE\tUSER\tSENT\tREAD\tTHE LINK OPENS\n", r.Engine)
	for _, l := range r.Links {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Kind, l.User, l.Sent, l.Read, l.Opens)
	}
	fmt.Fprint(table, "\nThe IDs of one worker in this millisecond, sent as numbers:\n\nLAYOUT\tIDS\tDISTINCT NUMBERS\tABOVE 2^53 SINCE\n")
	for _, c := range r.Counts {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", c.Layout, c.IDs, c.Numbers, c.Since)
	}
	return table.Flush()
}
