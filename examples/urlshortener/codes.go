package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/segment"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// codes is a kind of codes. A service with one kind needs only that one.
type codes interface {
	// code returns the code of a link.
	code(l *Link) (string, error)
	// find returns the condition for the link of a code, and false for text that is no code of this kind.
	find(code string) (where *Link, ok bool)
}

// openCodes returns the kind that the flag names, and the numbers for Link.Number; the zero Sequence issues none.
func openCodes(ctx context.Context, c config, db *gorm.DB, pool *sql.DB, dialect sqldb.Dialect) (*segment.Sequence, codes, error) {
	numbers := new(segment.Sequence)
	switch c.codes {
	case "id":
		return numbers, idCodes{}, nil
	case "short":
		if err := segment.Migrate(ctx, pool, dialect); err != nil {
			return nil, nil, err
		}
		numbers, err := segment.Open(ctx, pool, dialect, "links")
		return numbers, shortCodes{db, numbers}, err
	case "opaque":
		keys, err := publicid.ParseKeys(c.keys)
		if err != nil {
			return nil, nil, fmt.Errorf("opaque codes need keys, and they live as long as these: set URLSHORTENER_KEYS "+
				"to \"2026a:\" and 32 random hexadecimal digits (openssl rand -hex 16): %w", err)
		}
		codec, err := publicid.New("link", keys, publicid.WithBase62())
		return numbers, opaqueCodes{codec}, err
	}
	return nil, nil, fmt.Errorf("-codes %q: want id, short or opaque", c.codes)
}

// idCodes are the keys in base 62: 11 characters, and no table to count in.
type idCodes struct{}

func (idCodes) code(l *Link) (string, error) { return l.ID.Base62(), nil }

func (idCodes) find(code string) (*Link, bool) {
	id, err := snowflake.ParseBase62(code)
	return &Link{ID: id}, err == nil && snowflake.Default().Validate(id) == nil
}

// shortCodes are the numbers 1, 2, 3 in base 62: 1 to 7 characters, enough for 3.5e12 links.
type shortCodes struct {
	db      *gorm.DB
	numbers *segment.Sequence
}

const zeros = "00000000000" // as many as Base62 has characters

// code returns "" for a link that a copy with codes of another kind has made meanwhile.
func (shortCodes) code(l *Link) (string, error) { return strings.TrimLeft(l.Number.Base62(), "0"), nil }

// number gives numbers to all links that were made with codes of another kind. Another copy may do it at the same time.
func (c shortCodes) number(ctx context.Context) error {
	var links []Link
	db := c.db.WithContext(ctx)
	return db.Where("number IS NULL").FindInBatches(&links, 1000, func(*gorm.DB, int) error {
		for _, l := range links {
			number, err := c.numbers.Next(ctx)
			if err == nil {
				err = db.Model(&Link{}).Where("id = ? AND number IS NULL", l.ID).Update("number", number).Error
			}
			if err != nil {
				return err
			}
		}
		return nil
	}).Error
}

func (shortCodes) find(code string) (*Link, bool) {
	if code == "" || len(code) > 7 || code[0] == '0' {
		return nil, false
	}
	number, err := snowflake.ParseBase62(zeros[len(code):] + code)
	return &Link{Number: number}, err == nil
}

// opaqueCodes are the keys, encrypted: 22 characters.
type opaqueCodes struct{ codec *publicid.Codec }

func (c opaqueCodes) code(l *Link) (string, error) { return c.codec.Token(l.ID) }

func (c opaqueCodes) find(code string) (*Link, bool) {
	id, err := c.codec.Parse(code)
	return &Link{ID: id}, err == nil
}
