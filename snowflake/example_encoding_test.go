package snowflake_test

import (
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The shapes of an ID as text: Base32 for text columns and file names, Base58 and Base62 for short URLs.
func ExampleID_Base32() {
	id := snowflake.ID(175928847299117063)
	fmt.Println(id.Base32(), id.Base58(), id.Base62())
	fmt.Println(snowflake.ID(1).Base32() < id.Base32())
	// Output:
	// 04W86BB0G4007 1QgmVVkniES 0Czks0tP37X
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
