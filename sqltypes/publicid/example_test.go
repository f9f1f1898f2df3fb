package publicid_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

func Example() {
	// From the environment, as PUBLICID_KEYS="2026a:$(openssl rand -hex 16)".
	keys, err := publicid.ParseKeys("2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}

	users, err := publicid.New("user", keys)
	if err != nil {
		panic(err)
	}

	for id := snowflake.ID(153652455014400000); id < 153652455014400003; id++ {
		token, err := users.Token(id)
		if err != nil {
			panic(err)
		}
		back, err := users.Parse(token)
		fmt.Println(token, back, err)
	}

	_, err = users.Parse("2BN5D8MQNV4EBEF8WQ5QEYGZDB") // the first one with its last bit changed
	fmt.Println(errors.Is(err, publicid.ErrToken), err)
	// Output:
	// 2BN5D8MQNV4EBEF8WQ5QEYGZDA 153652455014400000 <nil>
	// 5M0CB0638NB0HP3C5MB7B6NNGY 153652455014400001 <nil>
	// 1Y9WR5G0VA1FPEYC7VJYXH2PK5 153652455014400002 <nil>
	// true snowflake: token "2BN5D8MQNV4EBEF8WQ5QEYGZDB" is not an ID: no key of domain "user" decrypts it
}

// The ID of an article.
type (
	articleKind struct{}
	ArticleID   = publicid.ID[articleKind]
)

var articles = mustCodec("article", "2026a:000102030405060708090a0b0c0d0e0f")

func (articleKind) Codec() *publicid.Codec { return articles }

// A field of this type reads and writes tokens, and null with a pointer.
func ExampleID() {
	type Article struct {
		ID       ArticleID  `json:"id"`
		PartOf   *ArticleID `json:"part_of"`
		Replaces ArticleID  `json:"replaces,omitzero"`
	}
	text, err := json.Marshal(Article{ID: publicid.IDFrom[articleKind](153652455014400000)})
	fmt.Println(string(text), err)

	var back Article
	err = json.Unmarshal(text, &back)
	fmt.Println(back.ID, back.ID.SnowflakeID(), err)

	err = json.Unmarshal([]byte(`{"id":153652455014400000}`), &back)
	fmt.Println(err)
	column, err := publicid.IDFrom[articleKind](5).Value() // what goes into the bigint
	fmt.Println(column, err)
	// Output:
	// {"id":"3CY5R72AFDYHH5SDM96177Q8K6","part_of":null} <nil>
	// 3CY5R72AFDYHH5SDM96177Q8K6 153652455014400000 <nil>
	// snowflake: token "153652455014400000" is not an ID: want 26 digits and capitals without I, L, O and U, a number of 128 bits
	// 5 <nil>
}
