package sqltypes_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// checkNullFormats checks that BSON and parameters of URLs are read back.
func checkNullFormats(t *testing.T, n sqltypes.Null) {
	t.Helper()
	typ, data, err := n.MarshalBSONValue()
	if back := sqltypes.NullFrom(42); err != nil || back.UnmarshalBSONValue(typ, data) != nil || back != n {
		t.Errorf("%+v is written as BSON %x of type %#x, %v, and read back as %+v", n, data, typ, err, back)
	}

	values := url.Values{}
	err = n.EncodeValues("id", &values)
	back := sqltypes.NullFrom(42)
	if err != nil || !values.Has("id") || back.UnmarshalParam(values.Get("id")) != nil || back != n {
		t.Errorf("%+v is written as %s, %v, and read back as %+v", n, values.Encode(), err, back)
	}
}

func TestNullIsReadBackFromBSONAndParameters(t *testing.T) {
	checkNullFormats(t, sqltypes.Null{})
	for _, id := range everyID() {
		checkNullFormats(t, sqltypes.NullFrom(id))
	}
}

func TestBSONDoublesAreRejected(t *testing.T) {
	double := []byte{0, 0, 0, 0, 0, 0, 0x14, 0x40} // 5.0
	null, typed, strict := sqltypes.NullFrom(42), userID(42), sqltypes.Strict(42)
	for name, err := range map[string]error{
		"Null":   null.UnmarshalBSONValue(1, double),
		"Typed":  typed.UnmarshalBSONValue(1, double),
		"Strict": strict.UnmarshalBSONValue(1, double),
	} {
		if !errors.Is(err, snowflake.ErrType) {
			t.Errorf("%s reads a double: %v", name, err)
		}
	}
	if null != (sqltypes.Null{}) || typed != 0 || strict != 0 {
		t.Errorf("after the error they are %v, %d, %d", null, typed, strict)
	}
}
