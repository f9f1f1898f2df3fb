package publicid_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"testing"

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

func TestEncodingBinaryRefusesAnID(t *testing.T) {
	var out bytes.Buffer
	var id any = userID(number)
	if err := binary.Write(&out, binary.BigEndian, id); err == nil || out.Len() > 0 {
		t.Errorf("wrote % x, %v", out.Bytes(), err)
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
