package publicid_test

import (
	"database/sql"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

const number = 175907170989793351

// readers are all methods that read a token into an ID.
var readers = map[string]func(id *UserID, text string) error{
	"UnmarshalText":   func(id *UserID, text string) error { return id.UnmarshalText([]byte(text)) },
	"UnmarshalBinary": func(id *UserID, text string) error { return id.UnmarshalBinary([]byte(text)) },
	"UnmarshalParam":  func(id *UserID, text string) error { return id.UnmarshalParam(text) },
	"json.Unmarshal":  func(id *UserID, text string) error { return json.Unmarshal([]byte(strconv.Quote(text)), id) },
	"ParseID": func(id *UserID, text string) (err error) {
		*id, err = publicid.ParseID[userKind](text)
		return err
	},
}

func TestIDReadsOnlyWhatItWrites(t *testing.T) {
	for _, raw := range someIDs() {
		want, token := userID(raw), mustToken(t, users, raw)
		text, err := want.MarshalText()
		if string(text) != token || err != nil || want.String() != token || want.LogValue().String() != token {
			t.Errorf("the text of %d is %q, %v, in a log %v, want %q", raw, text, err, want.LogValue(), token)
		}

		for name, read := range readers {
			id := userID(42)
			if err := read(&id, token); id != want || err != nil {
				t.Errorf("%s of %q = %d, %v, want %d", name, token, id.SnowflakeID(), err, raw)
			}
		}
	}

	token := userID(number).String()
	for _, text := range []string{
		"", "0", "5", "175907170989793351", token[1:], strings.ToLower(token), "x" + token[1:],
		orderID(number).String(), snowflake.ID(number).Base32(),
	} {
		for name, read := range readers {
			id := userID(42)
			if err := read(&id, text); id.SnowflakeID() != 0 || !errors.Is(err, publicid.ErrToken) {
				t.Errorf("%s of %q = %d, %v, want 0 and ErrToken", name, text, id.SnowflakeID(), err)
			}
		}
	}
}

func TestIDInAJSONObject(t *testing.T) {
	type order struct {
		ID     OrderID           `json:"id"`
		Buyer  UserID            `json:"buyer,omitzero"`
		Seller *UserID           `json:"seller"`
		Notes  map[UserID]string `json:"notes,omitempty"`
		Quoted UserID            `json:"quoted,string,omitzero"` //nolint:staticcheck // the option has no effect
	}

	user := userID(6)
	id, token := `{"id":"`+orderID(5).String()+`",`, `"`+user.String()+`"`
	for want, in := range map[string]order{
		id + `"seller":null}`: {ID: orderID(5)},
		id + strings.ReplaceAll(`"buyer":U,"seller":U,"notes":{U:"x"},"quoted":U}`, "U", token): {
			orderID(5), user, &user, map[UserID]string{user: "x"}, user,
		},
	} {
		text, err := json.Marshal(in)
		var back order
		if string(text) != want || err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, in) {
			t.Errorf("Marshal = %s, %v, want %s; read back as %+v", text, err, want, back)
		}
	}

	// An unset ID has no token, since all new rows would share it.
	for _, bad := range []any{order{}, order{ID: orderID(-5)}, map[UserID]int{{}: 1}, noID(5)} {
		if text, err := json.Marshal(bad); err == nil || text != nil {
			t.Errorf("Marshal of %+v = %s, want an error", bad, text)
		}
	}
}

func TestIDWithoutATokenHasNoText(t *testing.T) {
	for _, test := range []struct {
		id interface {
			encoding.TextMarshaler
			fmt.Stringer
			slog.LogValuer
		}
		want error
		text string
	}{
		{UserID{}, publicid.ErrNoToken, "the ID has no token: 0 is outside of [1, 9223372036854775807]"},
		{userID(-7), publicid.ErrNoToken, "-7 is outside"},
		{userID(math.MinInt64), publicid.ErrNoToken, "-9223372036854775808 is outside"},
		{noID(5), publicid.ErrNoCodec, "publicid: no codec: publicid_test.noKind.Codec returned none"},
	} {
		text, err := test.id.MarshalText()
		if text != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || test.id.String() != "" {
			t.Errorf("MarshalText of %#v = %q, %v, want %q; String %q", test.id, text, err, test.text, test.id)
		}
		if got := test.id.LogValue().String(); got != "" {
			t.Errorf("LogValue of %#v = %q", test.id, got)
		}
	}

	id := noID(42)
	for _, err := range []error{id.UnmarshalText([]byte("x")), id.UnmarshalParam("x"), id.UnmarshalJSON([]byte(`"x"`))} {
		if !errors.Is(err, publicid.ErrNoCodec) || !strings.Contains(err.Error(), "noKind") || id.SnowflakeID() != 0 {
			t.Errorf("without a codec: %d, %v", id.SnowflakeID(), err)
		}
	}
}

func TestEachVerbPrintsTheToken(t *testing.T) {
	id := userID(number)
	token := id.String()
	for _, verb := range "vdtbcoOUeEfFgGsqxX" {
		want := token
		if strings.ContainsRune("qxX", verb) {
			want = fmt.Sprintf("%"+string(verb), token)
		}
		if got := fmt.Sprintf("%"+string(verb), id); got != want {
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

	for _, name := range []string{"MarshalText", "MarshalBSON"} { // MongoDB's driver calls it, and would lose the number
		if out := element.MethodByName(name).Call(nil); out[1].IsNil() {
			t.Errorf("the element's %s returns %s, want an error", name, out[0])
		}
	}

	if out, err := binary.Append(nil, binary.BigEndian, id); err == nil || out != nil {
		t.Errorf("encoding/binary wrote % x, %v", out, err)
	}

	// go-cmp calls it.
	for other, want := range map[UserID]bool{id: true, userID(5): false} {
		if got := element.MethodByName("Equal").Call([]reflect.Value{reflect.ValueOf(other).Index(0)})[0].Bool(); got != want {
			t.Errorf("the elements of %v and %v are equal: %t", id, other, got)
		}
	}
}

func TestColumnHoldsTheNumber(t *testing.T) {
	for _, want := range []int64{0, 5, -5, number, math.MaxInt64, math.MinInt64} {
		id := noID(42) // the column needs no key
		id.SetSnowflakeID(snowflake.ID(want))
		if got, err := id.Value(); got != want || err != nil || id.GormDataType() != "bigint" {
			t.Errorf("Value of %d = %T %v, %v", want, got, got, err)
		}
		back := noID(42)
		if err := back.Scan(want); back != id || err != nil {
			t.Errorf("Scan of %d = %d, %v", want, back.SnowflakeID(), err)
		}
	}

	seven, raw := userID(7), snowflake.ID(7)
	for _, test := range []struct {
		src  any
		want snowflake.ID
		err  error
	}{
		{"7", 7, nil},
		{[]byte("7"), 7, nil},
		{seven, 7, nil},
		{&seven, 7, nil},
		{&raw, 7, nil},
		{nil, 0, snowflake.ErrNull},
		{(*UserID)(nil), 0, snowflake.ErrNull},
		{(*snowflake.ID)(nil), 0, snowflake.ErrNull},
		{"", 0, snowflake.ErrSyntax},
		{seven.String(), 0, snowflake.ErrSyntax}, // no column holds tokens
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{orderID(7), 0, snowflake.ErrType},
	} {
		id := userID(42)
		err := id.Scan(test.src)
		if id.SnowflakeID() != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, id.SnowflakeID(), err, test.want, test.err)
		}
		const remedy = "is not an ID: use *publicid.ID or sql.Null[publicid.ID] for a column that may be NULL"
		if errors.Is(err, snowflake.ErrNull) && !strings.HasSuffix(err.Error(), remedy) {
			t.Errorf("Scan(%T nil): %v does not name the remedy", test.src, err)
		}
	}
}

// User and Order are the models of an API that shows only tokens.
type User struct {
	ID        UserID  `json:"id"         gorm:"primaryKey;type:int;size:64"`
	Name      string  `json:"name"`
	InvitedBy *UserID `json:"invited_by"`
	Orders    []Order `json:"orders,omitempty"`
}

type Order struct {
	ID     OrderID `json:"id"      gorm:"primaryKey;type:int;size:64"`
	UserID UserID  `json:"user_id"`
}

// eachGORM runs f on each database, on PostgreSQL also with the simple protocol, which writes IDs as text.
func eachGORM(t *testing.T, f func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		targets := []testdb.Target{target}
		if target.Name == "postgres" {
			simple := testdb.Postgres(t)
			simple.DSN += "&default_query_exec_mode=simple_protocol"
			targets = append(targets, simple)
		}

		for _, target := range targets {
			gen := gormtest.New(snowflake.Default(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Millisecond)
			db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
			noError(t, err)
			pool, err := db.DB()
			noError(t, errors.Join(err, db.AutoMigrate(&User{}, &Order{})))
			t.Cleanup(func() { _ = pool.Close() })
			f(t, db)
		}
	})
}

func TestJSONHasOnlyTokensAndTheColumnHasTheNumber(t *testing.T) {
	eachGORM(t, func(t *testing.T, db *gorm.DB) {
		var ada User
		noError(t, errors.Join(json.Unmarshal([]byte(`{"name":"Ada","orders":[{},{}]}`), &ada), db.Create(&ada).Error))
		want := `{"id":"` + mustToken(t, users, ada.ID.SnowflakeID()) + `","name":"Ada","invited_by":null,"orders":[` +
			`{"id":"` + mustToken(t, orders, ada.Orders[0].ID.SnowflakeID()) + `","user_id":"` + ada.ID.String() + `"},` +
			`{"id":"` + ada.Orders[1].ID.String() + `","user_id":"` + ada.ID.String() + `"}]}`
		var back User
		id, err := publicid.ParseID[userKind](ada.ID.String())
		noError(t, errors.Join(err, db.Preload("Orders").First(&back, id).Error))
		if text, err := json.Marshal(back); string(text) != want || err != nil {
			t.Errorf("read back as %s, %v, want %s", text, err, want)
		}

		var grace User
		body := `{"name":"Grace","invited_by":"` + ada.ID.String() + `"}`
		var raw struct {
			ID        snowflake.ID
			InvitedBy sql.Null[snowflake.ID]
		}
		noError(t, errors.Join(json.Unmarshal([]byte(body), &grace), db.Create(&grace).Error,
			db.Table("users").Where("name = ?", "Grace").Take(&raw).Error))
		if raw.ID != grace.ID.SnowflakeID() || !raw.InvitedBy.Valid || raw.InvitedBy.V != ada.ID.SnowflakeID() {
			t.Errorf("the columns hold %+v, want the numbers %d and %d", raw, grace.ID.SnowflakeID(), ada.ID.SnowflakeID())
		}
		testSingleValues(t, db, ada, grace)
	})
}

// GORM takes the array of an ID for a list, and reads a single value into its element.
func testSingleValues(t *testing.T, db *gorm.DB, ada, grace User) {
	row := func(user User) *gorm.DB { return db.Model(&User{}).Where("id = ?", user.ID) }
	for name, read := range map[string]func(to any) error{
		"Raw": func(to any) error {
			return db.Raw("SELECT invited_by FROM users WHERE id = ?", grace.ID).Scan(to).Error
		},
		"Scan":  func(to any) error { return row(grace).Select("invited_by").Scan(to).Error },
		"Pluck": func(to any) error { return row(grace).Pluck("invited_by", to).Error },
	} {
		id, null := userID(42), sql.Null[UserID]{}
		var pointer *UserID
		err := errors.Join(read(&id), read(&null), read(&pointer))
		if err != nil || id != ada.ID || null.V != ada.ID || *pointer != ada.ID {
			t.Errorf("%s: %d, %+v, %v, %v", name, id.SnowflakeID(), null, pointer, err)
		}
	}

	id, null := userID(42), sql.Null[UserID]{Valid: true}
	if err := row(ada).Pluck("invited_by", &null).Error; err != nil || null.Valid {
		t.Errorf("NULL is read as %+v, %v", null, err)
	}

	if err := row(ada).Pluck("invited_by", &id).Error; !errors.Is(err, snowflake.ErrNull) ||
		!strings.Contains(err.Error(), "sql.Null[publicid.ID]") || id.SnowflakeID() != 0 {
		t.Errorf("NULL is read as %d, %v", id.SnowflakeID(), err)
	}
}
