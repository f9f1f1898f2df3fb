package snowflake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/sqlflake/sqlflake/snowflake"
)

func ExampleParse() {
	id, err := snowflake.Parse("175928847299117063")
	fmt.Println(id, err)
	_, err = snowflake.Parse("0175928847299117063")
	fmt.Println(err)
	_, err = snowflake.Parse("9223372036854775808")
	fmt.Println(errors.Is(err, snowflake.ErrRange))
	// Output:
	// 175928847299117063 <nil>
	// snowflake: text "0175928847299117063" is not an ID: a number starts without a zero, and 0 has no sign
	// true
}

// An ID is a string in JSON. As a number, JavaScript would round these two to one: 175928847299117060.
func ExampleID_MarshalText() {
	type user struct {
		ID   snowflake.ID `json:"id"`
		Name string       `json:"name"`
	}
	out, err := json.Marshal([]user{{175928847299117063, "alice"}, {175928847299117064, "bob"}})
	fmt.Println(string(out), err)
	// Output:
	// [{"id":"175928847299117063","name":"alice"},{"id":"175928847299117064","name":"bob"}] <nil>
}

// A client may send the string or, if its numbers hold 64 bits, the bare integer.
func ExampleID_UnmarshalJSON() {
	var ids []snowflake.ID
	err := json.Unmarshal([]byte(`["175928847299117063", 175928847299117064]`), &ids)
	fmt.Println(ids, err)
	err = json.Unmarshal([]byte(`[1.75928847299117e17]`), &ids)
	fmt.Println(err)
	// Output:
	// [175928847299117063 175928847299117064] <nil>
	// snowflake: JSON "1.75928847299117e17" is not an ID: want decimal digits only, byte 1 is "."
}

func ExampleID_Scan() {
	var id snowflake.ID
	for _, column := range []any{int64(175928847299117063), []byte("175928847299117064"), nil} {
		err := id.Scan(column)
		fmt.Println(id, err)
	}
	// Output:
	// 175928847299117063 <nil>
	// 175928847299117064 <nil>
	// 175928847299117064 snowflake: NULL is not an ID: use sqltypes.Null or *snowflake.ID for a column that may be NULL
}

func ExampleID_LogValue() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	log.Info("order paid", "order", snowflake.ID(175928847299117063))
	// Output:
	// {"level":"INFO","msg":"order paid","order":"175928847299117063"}
}

// The shapes of an ID as text: Base32 for text columns and file names, Base62 for short URLs.
func ExampleID_Base32() {
	id := snowflake.ID(175928847299117063)
	fmt.Println(id.Base32(), id.Base62())
	fmt.Println(snowflake.ID(1).Base32() < id.Base32())
	// Output:
	// 04W86BB0G4007 0Czks0tP37X
	// true
}

// One ID has one text: lower case is refused, and so is the letter O in the place of a zero.
func ExampleParseBase32() {
	id, err := snowflake.ParseBase32("04W86BB0G4007")
	fmt.Println(id, err)
	_, err = snowflake.ParseBase32("O4W86BB0G4007")
	fmt.Println(err)
	// Output:
	// 175928847299117063 <nil>
	// snowflake: base32 "O4W86BB0G4007" is not an ID: byte 0 is "O", which is not in the alphabet
}
