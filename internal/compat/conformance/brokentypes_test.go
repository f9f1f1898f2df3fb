package conformance

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The types here are broken, each in one way, to prove that the checks find it.

// stale keeps its value on an error.
type stale int64

func (b *stale) Scan(src any) error {
	var id snowflake.ID
	if err := id.Scan(src); err != nil {
		return err
	}
	*b = stale(id)
	return nil
}

// staleNull does not change on NULL.
type staleNull struct{ sqltypes.Null }

func (b *staleNull) Scan(src any) error {
	if src == nil {
		return nil
	}
	return b.Null.Scan(src)
}

// halfNull forgets the ID of the previous row, but not that there was one.
type halfNull struct{ sqltypes.Null }

func (b *halfNull) Scan(src any) error {
	if src == nil {
		b.ID = 0
		return nil
	}
	return b.Null.Scan(src)
}

// validOnError is valid after an error.
type validOnError struct{ sqltypes.Null }

func (b *validOnError) Scan(src any) error {
	err := b.Null.Scan(src)
	b.Valid = src != nil
	return err
}

// zeroForNull reads NULL as the ID 0, without an error.
type zeroForNull int64

func (b *zeroForNull) Scan(src any) error {
	if src == nil {
		*b = 0
		return nil
	}
	var id snowflake.ID
	err := id.Scan(src)
	*b = zeroForNull(id)
	return err
}

// otherNullError returns an error for NULL that does not match any sentinel.
type otherNullError int64

func (b *otherNullError) Scan(src any) error {
	if src == nil {
		*b = 0
		return errors.New("it is NULL")
	}
	return (*zeroForNull)(b).Scan(src)
}

// viaFloat writes a float64 and reads one.
type viaFloat int64

func (b viaFloat) Value() (driver.Value, error) { return float64(b), nil }

func (b *viaFloat) Scan(src any) error {
	switch src := src.(type) {
	case float64:
		*b = viaFloat(src)
		return nil
	case int64:
		*b = viaFloat(float64(src))
		return nil
	}
	*b = 0
	return fmt.Errorf("a %T", src)
}

// asText writes the digits, as some other packages do; SQLite and pgx do not compare them with a number.
type asText int64

func (b asText) Value() (driver.Value, error) { return "id " + decimal(b), nil }

// asNumber is a number in JSON, which JavaScript rounds.
type asNumber int64

// staleJSON keeps its value on an error in JSON.
type staleJSON struct{ snowflake.ID }

// ignoredNull does not change on null in JSON.
type ignoredNull struct{ sqltypes.Null }

func (b *ignoredNull) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return b.Null.UnmarshalJSON(data)
}

// otherKey has different texts as map key and as value.
type otherKey int64

func (b otherKey) MarshalText() ([]byte, error) { return []byte("key " + decimal(b)), nil }

// lenientArray reads a NULL element as 0.
type lenientArray []snowflake.ID

func (b lenientArray) Value() (driver.Value, error) { return sqltypes.ArrayOf(b).Value() }

func (b *lenientArray) Scan(src any) error {
	if text, ok := src.(string); ok {
		src = strings.ReplaceAll(text, "NULL", "0")
	}
	return (*sqltypes.Array[snowflake.ID])(b).Scan(src)
}

// emptyArray does not distinguish NULL from an empty array.
type emptyArray []snowflake.ID

func (b emptyArray) Value() (driver.Value, error) { return sqltypes.ArrayOf(b).Value() }

func (b *emptyArray) Scan(src any) error {
	err := (*sqltypes.Array[snowflake.ID])(b).Scan(src)
	if len(*b) == 0 {
		*b = nil
	}
	return err
}

// shortArray loses the last element as a parameter.
type shortArray []snowflake.ID

func (b shortArray) Value() (driver.Value, error) {
	return sqltypes.ArrayOf(b[:max(len(b)-1, 0)]).Value()
}

func (b *shortArray) Scan(src any) error { return (*sqltypes.Array[snowflake.ID])(b).Scan(src) }

var (
	staleKind          = brokenID[stale]()
	zeroForNullKind    = brokenID[zeroForNull]()
	otherNullErrorKind = brokenID[otherNullError]()
	viaFloatKind       = brokenID[viaFloat]()
	asTextKind         = brokenID[asText]()
	asNumberKind       = brokenID[asNumber]()
	otherKeyKind       = brokenID[otherKey]()
	staleJSONKind      = integers("broken", ids, func(id snowflake.ID) staleJSON { return staleJSON{id} }, digits)

	staleNullKind    = brokenNull(func(n sqltypes.Null) staleNull { return staleNull{n} })
	halfNullKind     = brokenNull(func(n sqltypes.Null) halfNull { return halfNull{n} })
	validOnErrorKind = brokenNull(func(n sqltypes.Null) validOnError { return validOnError{n} })
	ignoredNullKind  = brokenNull(func(n sqltypes.Null) ignoredNull { return ignoredNull{n} })

	lenientArrayKind = brokenArray[lenientArray]()
	emptyArrayKind   = brokenArray[emptyArray]()
	shortArrayKind   = brokenArray[shortArray]()
)

func brokenID[T ~int64]() kind[T] {
	return integers("broken", ids, func(id snowflake.ID) T { return T(id) }, digits)
}

func brokenNull[T any](from func(sqltypes.Null) T) kind[T] {
	return nullable(integers("broken", ids, func(id snowflake.ID) T { return from(sqltypes.NullFrom(id)) }, digits))
}

func brokenArray[T ~[]snowflake.ID]() kind[T] {
	return arrays[snowflake.ID]("broken", digits, func(ids []snowflake.ID) T { return T(ids) })
}
