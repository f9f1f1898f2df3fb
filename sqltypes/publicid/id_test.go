package publicid_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// The interfaces of ID.
var (
	_ fmt.Stringer                              = UserID{}
	_ encoding.TextAppender                     = UserID{}
	_ encoding.TextMarshaler                    = UserID{}
	_ encoding.TextUnmarshaler                  = (*UserID)(nil)
	_ json.Unmarshaler                          = (*UserID)(nil)
	_ driver.Valuer                             = UserID{}
	_ sql.Scanner                               = (*UserID)(nil)
	_ slog.LogValuer                            = UserID{}
	_ gormplugin.Key                            = (*UserID)(nil)
	_ interface{ UnmarshalParam(string) error } = (*UserID)(nil) // gin and echo
	_ interface{ GormDataType() string }        = UserID{}       // GORM
)

const number = 175907170989793351

// readers are all methods that read a token into an ID.
var readers = map[string]func(id *UserID, text string) error{
	"UnmarshalText":  func(id *UserID, text string) error { return id.UnmarshalText([]byte(text)) },
	"UnmarshalParam": func(id *UserID, text string) error { return id.UnmarshalParam(text) },
	"UnmarshalJSON":  func(id *UserID, text string) error { return id.UnmarshalJSON([]byte(`"` + text + `"`)) },
	"json.Unmarshal": func(id *UserID, text string) error {
		quoted, err := json.Marshal(text)
		if err != nil {
			return err
		}
		return json.Unmarshal(quoted, id)
	},
	"ParseID": func(id *UserID, text string) (err error) {
		*id, err = publicid.ParseID[userKind](text)
		return err
	},
}

func TestIDReadsWhatItWrites(t *testing.T) {
	for _, raw := range someIDs() {
		want := userID(raw)
		token := mustToken(t, users, raw)
		for name, write := range map[string]func() (string, error){
			"String":      func() (string, error) { return want.String(), nil },
			"MarshalText": func() (string, error) { b, err := want.MarshalText(); return string(b), err },
			"AppendText":  func() (string, error) { b, err := want.AppendText([]byte("x")); return string(b[1:]), err },
			"LogValue":    func() (string, error) { return want.LogValue().String(), nil },
		} {
			if got, err := write(); got != token || err != nil {
				t.Errorf("%s of %d = %q, %v, want %q", name, raw, got, err, token)
			}
		}
		for name, read := range readers {
			id := userID(42)
			if err := read(&id, token); id != want || err != nil {
				t.Errorf("%s of %q = %d, %v, want %d", name, token, id.SnowflakeID(), err, raw)
			}
		}
	}
}

func TestOnlyTokensOfItsKindAreRead(t *testing.T) {
	token := userID(number).String()
	for _, text := range []string{
		"", "0", "5", "175907170989793351", token[1:], strings.ToLower(token), "x" + token[1:],
		orderID(number).String(), shortID(number).String(), snowflake.ID(number).Base32(),
	} {
		for name, read := range readers {
			id := userID(42)
			if err := read(&id, text); !id.IsZero() || !errors.Is(err, publicid.ErrToken) {
				t.Errorf("%s of %q = %d, %v, want 0 and ErrToken", name, text, id.SnowflakeID(), err)
			}
		}
	}
}

func TestJSONOtherThanATokenIsRejected(t *testing.T) {
	for _, text := range []string{
		"5", "175907170989793351", "-1", "1e3", "true", "false", "[]", "{}", `["5"]`, `"5"`, `""`, `"null"`, `"\u0035"`,
	} {
		id := userID(42)
		if err := json.Unmarshal([]byte(text), &id); !id.IsZero() || !errors.Is(err, publicid.ErrToken) {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0 and ErrToken", text, id.SnowflakeID(), err)
		}
	}
	for _, text := range []string{"", `"`, `"\"`, `"\x"`, "nul"} { // encoding/json never passes these
		id := userID(42)
		if err := id.UnmarshalJSON([]byte(text)); !id.IsZero() || !errors.Is(err, publicid.ErrToken) {
			t.Errorf("UnmarshalJSON(%s) = %d, %v, want 0 and ErrToken", text, id.SnowflakeID(), err)
		}
	}
	id := userID(42)
	if err := json.Unmarshal([]byte("null"), &id); id.SnowflakeID() != 42 || err != nil {
		t.Errorf("Unmarshal(null) = %d, %v, want a no-op", id.SnowflakeID(), err)
	}
	token := userID(number).String()
	escaped := fmt.Sprintf(`"\u%04x%s"`, token[0], token[1:])
	if err := json.Unmarshal([]byte(escaped), &id); id.SnowflakeID() != number || err != nil {
		t.Errorf("Unmarshal(%s) = %d, %v", escaped, id.SnowflakeID(), err)
	}
}

func TestIDInAJSONObject(t *testing.T) {
	type order struct {
		ID     OrderID           `json:"id"`
		Buyer  UserID            `json:"buyer,omitzero"`
		Seller *UserID           `json:"seller"`
		Notes  map[UserID]string `json:"notes,omitempty"`
		Quoted UserID            `json:"quoted,string,omitzero"` //nolint:staticcheck // the option has no effect
		Lists  []UserID          `json:"lists,omitempty"`
	}
	token, seller := orderID(5).String(), userID(6)
	user := seller.String()
	for _, test := range []struct {
		in   order
		want string
	}{
		{order{ID: orderID(5)}, `{"id":"` + token + `","seller":null}`},
		{
			order{
				ID: orderID(5), Buyer: seller, Seller: &seller, Notes: map[UserID]string{seller: "x"}, Quoted: seller,
				Lists: []UserID{seller},
			},
			strings.ReplaceAll(`{"id":"`+token+`","buyer":"U","seller":"U","notes":{"U":"x"},"quoted":"U","lists":["U"]}`, "U", user),
		},
	} {
		text, err := json.Marshal(test.in)
		if string(text) != test.want || err != nil {
			t.Errorf("Marshal = %s, %v, want %s", text, err, test.want)
		}
		var back order
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("Unmarshal(%s): %v", text, err)
		}
		again, err := json.Marshal(back)
		if string(again) != test.want || err != nil || back.ID != orderID(5) || (back.Seller == nil) != (test.in.Seller == nil) {
			t.Errorf("read back as %+v, %s, %v", back, again, err)
		}
	}
	// An unset ID has no token, since all new rows would share it.
	for _, bad := range []any{order{}, order{ID: orderID(-5)}, map[UserID]int{{}: 1}, noID(5)} {
		if text, err := json.Marshal(bad); err == nil || text != nil {
			t.Errorf("Marshal of %+v = %s, want an error", bad, text)
		}
	}
	swapped := `{"id":"` + user + `"}`
	if err := json.Unmarshal([]byte(swapped), new(order)); !errors.Is(err, publicid.ErrToken) {
		t.Errorf("a user's token as the ID of an order: %v", err)
	}
}

func TestIDWithoutATokenHasNoText(t *testing.T) {
	for _, test := range []struct {
		id interface {
			MarshalText() ([]byte, error)
			AppendText([]byte) ([]byte, error)
			String() string
			LogValue() slog.Value
		}
		want error
		text string
		log  string
	}{
		{UserID{}, publicid.ErrNoToken, "the ID has no token: 0 is outside of [1, 9223372036854775807]", ""},
		{userID(-7), publicid.ErrNoToken, "-7 is outside", "-7 is outside"},
		{userID(math.MinInt64), publicid.ErrNoToken, "-9223372036854775808 is outside", "is outside"},
		{noID(5), publicid.ErrNoCodec, "publicid: no codec: publicid_test.noKind.Codec returned none", "no codec"},
	} {
		if text, err := test.id.MarshalText(); text != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("MarshalText of %#v = %q, %v, want %q", test.id, text, err, test.text)
		}
		if text, err := test.id.AppendText([]byte("x")); string(text) != "x" || !errors.Is(err, test.want) {
			t.Errorf("AppendText of %#v = %q, %v", test.id, text, err)
		}
		if test.id.String() != "" {
			t.Errorf("String of %#v = %q", test.id, test.id)
		}
		if got := test.id.LogValue().String(); !strings.Contains(got, test.log) || (got == "") != (test.log == "") {
			t.Errorf("LogValue of %#v = %q, want %q", test.id, got, test.log)
		}
	}
	id := noID(42)
	for _, err := range []error{
		id.UnmarshalText([]byte("x")), id.UnmarshalParam("x"), id.UnmarshalJSON([]byte(`"x"`)),
		id.UnmarshalBinary([]byte("x")), id.UnmarshalBSONValue(0x02, []byte("\x02\x00\x00\x00x\x00")),
	} {
		if !errors.Is(err, publicid.ErrNoCodec) || !strings.Contains(err.Error(), "noKind") || !id.IsZero() {
			t.Errorf("without a codec: %d, %v", id.SnowflakeID(), err)
		}
	}
}

func TestPrintingAnIDHidesTheNumber(t *testing.T) {
	id := userID(number)
	type page struct {
		ID  UserID
		Ptr *UserID
	}
	var out strings.Builder
	fmt.Fprintln(&out, id, page{ID: id}, []UserID{id}, map[UserID]UserID{id: id})
	fmt.Fprintf(&out, "%v %s %q %+v %x", id, id, id, page{id, nil}, id)
	slog.New(slog.NewTextHandler(&out, nil)).Info("", "id", id, "ids", []UserID{id})
	slog.New(slog.NewJSONHandler(&out, nil)).Info("", "id", id, "ptr", &id, "page", page{id, &id})
	const source = `<a href="/users/{{.ID}}?x={{.ID}}">{{.ID}}</a><script>let a={{.ID}}</script>`
	tmpl := template.Must(template.New("").Parse(source))
	if err := tmpl.Execute(&out, page{ID: id}); err != nil {
		t.Fatal(err)
	}
	plain := id.SnowflakeID()
	for _, raw := range []string{plain.String(), fmt.Sprintf("%x", int64(number)), plain.Base32(), plain.Base62()} {
		if strings.Contains(out.String(), raw) {
			t.Errorf("%s in %s", raw, out.String())
		}
	}
	if n := strings.Count(out.String(), id.String()); n < 16 {
		t.Errorf("the token came %d times in %s", n, out.String())
	}
}

func TestEachVerbPrintsTheToken(t *testing.T) {
	id := userID(number)
	token := id.String()
	for _, verb := range "vdtbcoOqxXUeEfFgGsT" {
		got, want := fmt.Sprintf("%"+string(verb), id), token
		switch verb {
		case 'q', 'x', 'X':
			want = fmt.Sprintf("%"+string(verb), token)
		case 'T':
			want = "publicid.ID[github.com/sqlflake/sqlflake/sqltypes/publicid_test.userKind]"
		}
		if got != want {
			t.Errorf("%%%c prints %s, want %s", verb, got, want)
		}
	}
	for _, format := range []string{"%+v", "%28s|", "%-28s|", "%.5s", "%#q"} {
		if got, want := fmt.Sprintf(format, id), fmt.Sprintf(format, token); got != want {
			t.Errorf("%s prints %s, want %s", format, got, want)
		}
	}
	// An encoder that knows arrays only.
	element := reflect.ValueOf(id).Index(0)
	if got, want := fmt.Sprintf("%v %d", element, element.Interface()), token+" "+token; got != want {
		t.Errorf("the element prints %s, want %s", got, want)
	}
	if text, err := element.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
		t.Errorf("the element has the text %s", text)
	}
	// go-cmp calls it.
	for other, want := range map[UserID]bool{id: true, userID(5): false} {
		if got := element.MethodByName("Equal").Call([]reflect.Value{reflect.ValueOf(other).Index(0)})[0].Bool(); got != want {
			t.Errorf("the elements of %v and %v are equal: %t", id, other, got)
		}
	}
}

func TestIDConvertsFromAndToTheNumber(t *testing.T) {
	var id UserID
	id.SetSnowflakeID(number)
	if id.SnowflakeID() != number || id != userID(number) || id.IsZero() || !(UserID{}).IsZero() || id.GormDataType() != "bigint" {
		t.Errorf("set to %d", id.SnowflakeID())
	}
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(new(bytes.Buffer))
	flags.TextVar(&id, "id", UserID{}, "")
	if err := flags.Parse([]string{"-id", userID(5).String()}); err != nil || id != userID(5) {
		t.Errorf("-id: %d, %v", id.SnowflakeID(), err)
	}
	flags.PrintDefaults()
	if err := flags.Parse([]string{"-id", "5"}); err == nil {
		t.Error("-id 5 was accepted")
	}
}
