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
	// snowflake: JSON "153652455014400000" is not an ID: want a string with a token
	// 5 <nil>
}

// The new key makes tokens, and tokens of the old one are still read.
func ExampleCodec_Decrypt() {
	before, err := publicid.ParseKeys("2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}
	after, err := publicid.ParseKeys("2026b:f0e1d2c3b4a5968778695a4b3c2d1e0f,2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}
	for _, keys := range [][]publicid.Key{before, after} {
		maker, err := publicid.New("user", keys)
		if err != nil {
			panic(err)
		}
		token, err := maker.Token(153652455014400000)
		if err != nil {
			panic(err)
		}
		reader, err := publicid.New("user", after)
		if err != nil {
			panic(err)
		}
		id, key, err := reader.Decrypt(token)
		fmt.Println(token, id, key, err)
	}
	// Output:
	// 2BN5D8MQNV4EBEF8WQ5QEYGZDA 153652455014400000 2026a <nil>
	// 6YHDAY1GRHE9A05XB8KZ5PS9NT 153652455014400000 2026b <nil>
}

// A URL shortener prefers 22 characters, since nobody types its links.
func ExampleWithBase62() {
	keys, err := publicid.ParseKeys("2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}
	links, err := publicid.New("link", keys, publicid.WithBase62())
	if err != nil {
		panic(err)
	}
	token, err := links.Token(153652455014400000)
	fmt.Println("https://go.example/"+token, err)
	id, err := links.Parse(token)
	fmt.Println(id, err)
	// Output:
	// https://go.example/0mHGHIPZ622q9YhTt4xWK6 <nil>
	// 153652455014400000 <nil>
}
