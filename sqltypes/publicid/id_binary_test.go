package publicid_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

func TestGobHasTheToken(t *testing.T) {
	type page struct {
		ID    UserID
		Zero  UserID
		Ptr   *UserID
		Users map[UserID]OrderID
	}
	id := userID(number)
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(page{ID: id, Ptr: &id, Users: map[UserID]OrderID{id: orderID(number)}}); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte(id.String())); n != 3 {
		t.Errorf("the token is there %d times, want 3: %q", n, out.Bytes())
	}
	var back page
	if err := gob.NewDecoder(&out).Decode(&back); err != nil || back.ID != id || !back.Zero.IsZero() || *back.Ptr != id ||
		back.Users[id] != orderID(number) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	if err := gob.NewEncoder(&out).Encode([]UserID{{}}); !errors.Is(err, publicid.ErrNoToken) {
		t.Errorf("the ID 0 in a list: %v", err)
	}
	if err := id.UnmarshalBinary([]byte("5")); !errors.Is(err, publicid.ErrToken) || !id.IsZero() {
		t.Errorf("UnmarshalBinary of a number: %d, %v", id.SnowflakeID(), err)
	}
}

func TestEncodingBinaryRejectsAnID(t *testing.T) {
	if out, err := binary.Append(nil, binary.BigEndian, userID(number)); err == nil || out != nil {
		t.Errorf("wrote % x, %v", out, err)
	}
}

func TestBSONHasTheToken(t *testing.T) {
	const str, null = 0x02, 0x0a
	id := userID(number)
	want := append([]byte{27, 0, 0, 0}, id.String()+"\x00"...)
	kind, data, err := id.MarshalBSONValue()
	if kind != str || !bytes.Equal(data, want) || err != nil {
		t.Errorf("MarshalBSONValue = 0x%02x %q, %v, want %q", kind, data, err, want)
	}
	if _, data, err := (UserID{}).MarshalBSONValue(); data != nil || !errors.Is(err, publicid.ErrNoToken) {
		t.Errorf("of 0: %q, %v", data, err)
	}
	for _, test := range []struct {
		kind byte
		data string
		want UserID
		err  error
	}{
		{str, string(want), id, nil},
		{null, "", userID(42), nil},
		{str, "", UserID{}, publicid.ErrToken},
		{str, "\x01\x00\x00\x00", UserID{}, publicid.ErrToken},
		{str, "\x01\x00\x00\x00\x00", UserID{}, publicid.ErrToken},
		{str, string(want[:len(want)-1]), UserID{}, publicid.ErrToken},
		{str, string(want) + "\x00", UserID{}, publicid.ErrToken},
		{str, string(want[:len(want)-1]) + "x", UserID{}, publicid.ErrToken},
		{str, "\x02\x00\x00\x005\x00", UserID{}, publicid.ErrToken},
		{0x12, "\x05\x00\x00\x00\x00\x00\x00\x00", UserID{}, publicid.ErrToken}, // the number 5
	} {
		got := userID(42)
		if err := got.UnmarshalBSONValue(test.kind, []byte(test.data)); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("UnmarshalBSONValue(0x%02x, %q) = %d, %v, want %d, %v",
				test.kind, test.data, got.SnowflakeID(), err, test.want.SnowflakeID(), test.err)
		}
	}
}

func TestValueIsTheNumber(t *testing.T) {
	for _, want := range []int64{0, 5, -5, number, math.MaxInt64, math.MinInt64} {
		id := userID(snowflake.ID(want))
		if got, err := id.Value(); got != want || err != nil {
			t.Errorf("Value of %d = %T %v, %v", want, got, got, err)
		}
		back := userID(42)
		if err := back.Scan(want); back != id || err != nil {
			t.Errorf("Scan of %d = %d, %v", want, back.SnowflakeID(), err)
		}
	}
	if got, err := noID(5).Value(); got != int64(5) || err != nil { // the column needs no key
		t.Errorf("Value without a codec = %v, %v", got, err)
	}
}

func TestScan(t *testing.T) {
	seven, raw := userID(7), snowflake.ID(7)
	for _, test := range []struct {
		src  any
		want snowflake.ID
		err  error
	}{
		{int64(7), 7, nil},
		{"7", 7, nil},
		{[]byte("7"), 7, nil},
		{uint64(7), 7, nil},
		{seven, 7, nil},
		{&seven, 7, nil},
		{raw, 7, nil},
		{&raw, 7, nil},
		{nil, 0, snowflake.ErrNull},
		{(*UserID)(nil), 0, snowflake.ErrNull},
		{(*snowflake.ID)(nil), 0, snowflake.ErrNull},
		{"", 0, snowflake.ErrSyntax},
		{"007", 0, snowflake.ErrSyntax},
		{seven.String(), 0, snowflake.ErrSyntax}, // no column holds tokens
		{"9223372036854775808", 0, snowflake.ErrRange},
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{true, 0, snowflake.ErrType},
		{time.Time{}, 0, snowflake.ErrType},
		{orderID(7), 0, snowflake.ErrType},
	} {
		id := userID(42)
		if err := id.Scan(test.src); id.SnowflakeID() != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, id.SnowflakeID(), err, test.want, test.err)
		}
		if errors.Is(test.err, snowflake.ErrNull) {
			if err := id.Scan(test.src); !strings.Contains(err.Error(), "*publicid.ID") {
				t.Errorf("Scan(%T nil): %v does not name the remedy", test.src, err)
			}
		}
	}
}
