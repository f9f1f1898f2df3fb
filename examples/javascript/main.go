// Javascript shows what JavaScript makes of IDs. Two users of one millisecond are sent in three forms: as JSON numbers,
// as JSON strings, and as numbers of the preset javascriptsafe. The program prints what is read, or serves a page that
// shows what is in an ID.
package main

import (
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

//go:embed page
var page embed.FS

type user struct {
	ID   any    `json:"id"`
	Name string `json:"name"`
}

// kinds are the same two users in three forms. A snowflake.ID is a string in JSON; an int64 is a number, and so is a
// defined type without methods, such as type UserID snowflake.ID.
var kinds = map[string][]user{
	"numbers": {{int64(250263666560077824), "Ada"}, {int64(250263666560077825), "Grace"}},
	"strings": {{snowflake.ID(250263666560077824), "Ada"}, {snowflake.ID(250263666560077825), "Grace"}},
	"safe":    {{int64(195518489493632), "Ada"}, {int64(195518489493633), "Grace"}},
}

// opens returns the name of the user that a link with the ID opens, or 404.
func opens(kind, id string) string {
	for _, u := range kinds[kind] {
		if fmt.Sprint(u.ID) == id {
			return u.Name
		}
	}
	return "404"
}

// printTable reads the JSON as JavaScript does. In a value of type any a number becomes a float64, as JavaScript's
// numbers are, and Marshal writes the digits that JavaScript prints.
func printTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IDS ARE\tUSER\tSENT\tREAD\tTHE LINK OPENS")
	for _, kind := range []string{"numbers", "strings", "safe"} {
		for _, u := range kinds[kind] {
			var read any
			sent, err := json.Marshal(u.ID)
			if err == nil {
				err = json.Unmarshal(sent, &read)
			}
			if err != nil {
				return err
			}

			text, err := json.Marshal(read)
			if err != nil {
				return err
			}

			id := strings.Trim(string(text), `"`)
			digits := strings.Trim(string(sent), `"`)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", kind, u.Name, digits, id, opens(kind, id))
		}
	}

	return table.Flush()
}

func main() {
	addr := flag.String("serve", "", "`address` to serve the page on, such as 127.0.0.1:8080")
	flag.Parse()
	if *addr == "" {
		if err := printTable(os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}

	log.Printf("http://%s/page/", *addr)
	const limit = 10 * time.Second
	handler := http.FileServerFS(page)
	server := &http.Server{Addr: *addr, Handler: handler, ReadTimeout: limit, WriteTimeout: limit}
	log.Fatal(server.ListenAndServe())
}
