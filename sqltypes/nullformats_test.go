package sqltypes_test

import (
	"errors"
	"math"
	"net/url"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// checkNullFormats checks that BSON, CBOR and parameters of URLs are read back.
func checkNullFormats(t *testing.T, n sqltypes.Null) {
	t.Helper()
	typ, data, err := n.MarshalBSONValue()
	if back := sqltypes.NullFrom(42); err != nil || back.UnmarshalBSONValue(typ, data) != nil || back != n {
		t.Errorf("%+v is written as BSON %x of type %#x, %v, and read back as %+v", n, data, typ, err, back)
	}

	data, err = n.MarshalCBOR()
	if back := sqltypes.NullFrom(42); err != nil || back.UnmarshalCBOR(data) != nil || back != n {
		t.Errorf("%+v is written as CBOR %x, %v, and read back as %+v", n, data, err, back)
	}

	values := url.Values{}
	err = n.EncodeValues("id", &values)
	if back := sqltypes.NullFrom(42); err != nil || back.UnmarshalParam(values.Get("id")) != nil || back != n || !values.Has("id") {
		t.Errorf("%+v is written as %s, %v, and read back as %+v", n, values.Encode(), err, back)
	}
}

func TestNullIsTheSameInBSONAndCBORAndParameters(t *testing.T) {
	checkNullFormats(t, sqltypes.Null{})
	for _, id := range everyID() {
		checkNullFormats(t, sqltypes.NullFrom(id))
	}
}

// The forms are those of RFC 8949, appendix A.
func TestNullInCBOR(t *testing.T) {
	for form, want := range map[string]sqltypes.Null{
		"\xf6": {}, "\x00": sqltypes.NullFrom(0), "\x17": sqltypes.NullFrom(23), "\x18\x18": sqltypes.NullFrom(24),
		"\x18\xff": sqltypes.NullFrom(255), "\x19\x01\x00": sqltypes.NullFrom(256), "\x19\x03\xe8": sqltypes.NullFrom(1000),
		"\x1a\x00\x0f\x42\x40": sqltypes.NullFrom(1000000), "\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00": sqltypes.NullFrom(1000000000000),
		"\x1b\x7f\xff\xff\xff\xff\xff\xff\xff": sqltypes.NullFrom(math.MaxInt64), "\x20": sqltypes.NullFrom(-1),
		"\x38\x63": sqltypes.NullFrom(-100), "\x39\x03\xe7": sqltypes.NullFrom(-1000), "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff": sqltypes.NullFrom(math.MinInt64),
	} {
		got := sqltypes.NullFrom(42)
		if err := got.UnmarshalCBOR([]byte(form)); got != want || err != nil {
			t.Errorf("%x is read as %+v, %v, want %+v", form, got, err, want)
		}
		if written, err := want.MarshalCBOR(); string(written) != form || err != nil {
			t.Errorf("%+v is written as %x, %v, want %x", want, written, err, form)
		}
	}

	for form, want := range map[string]error{
		"\x1b\xff\xff\xff\xff\xff\xff\xff\xff": snowflake.ErrRange, // 18446744073709551615
		"\x3b\x80\x00\x00\x00\x00\x00\x00\x00": snowflake.ErrRange, // one below int64
		"\xfb\x43\xb5\xf7\x9d\x1e\x0b\x8f\x70": snowflake.ErrType,  // a float64
		"\x62\x31\x32":                         snowflake.ErrType,  // "12"
		"\xf5":                                 snowflake.ErrType,  // true
		"\xc2\x41\x05":                         snowflake.ErrType,  // a bignum
		"\xa2\x62ID\x05\x65Valid\xf5":          snowflake.ErrType,  // the struct
		"":                                     snowflake.ErrType, "\x18": snowflake.ErrType, "\x00\x00": snowflake.ErrType, "\x1c": snowflake.ErrType,
		"\x19\x01": snowflake.ErrType, "\x1f": snowflake.ErrType, "\xf6\xf6": snowflake.ErrType,
	} {
		got := sqltypes.NullFrom(42)
		if err := got.UnmarshalCBOR([]byte(form)); !errors.Is(err, want) || got != (sqltypes.Null{}) {
			t.Errorf("%x is read as %+v, %v, want NULL and %v", form, got, err, want)
		}
	}
	if n := sqltypes.NullFrom(42); n.UnmarshalCBOR([]byte("\xf7")) != nil || n.Valid {
		t.Errorf("undefined is read as %+v", n)
	}
}

func TestBSONDoublesAreRejected(t *testing.T) {
	double := []byte{0, 0, 0, 0, 0, 0, 0x14, 0x40} // 5.0
	null, typed, strict := sqltypes.NullFrom(42), userID(42), sqltypes.Strict(42)
	for name, err := range map[string]error{
		"Null": null.UnmarshalBSONValue(1, double), "Typed": typed.UnmarshalBSONValue(1, double), "Strict": strict.UnmarshalBSONValue(1, double),
	} {
		if !errors.Is(err, snowflake.ErrType) {
			t.Errorf("%s reads a double: %v", name, err)
		}
	}
	if null != (sqltypes.Null{}) || typed != 0 || strict != 0 {
		t.Errorf("after the error they are %v, %d, %d", null, typed, strict)
	}
}
