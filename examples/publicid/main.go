// Publicid is a JSON API that shows users and orders by tokens only and accepts no numbers. The tables in SQLite have
// Snowflake keys in integer columns and no column for the tokens.
//
// The token keys are read from the environment variable PUBLICID_KEYS ("2026a:" and 32 hexadecimal digits). Without it
// the program makes a key that is lost when it ends, and with it all tokens: use that for a demonstration only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

func main() {
	if err := start(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// start runs the program with keys from the environment and a database in a temporary folder.
func start(ctx context.Context, out io.Writer) error {
	keys, err := loadKeys()
	if err != nil {
		return err
	}
	gen, err := snowflake.New(1) // if several processes write, gormplugin.Open leases the worker numbers
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "publicid")
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, filepath.Join(dir, "shop.db"), keys, gen, out), os.RemoveAll(dir))
}

// keys are the keys at the start, and the key that is added later.
type keys struct {
	now  []publicid.Key
	next publicid.Key
}

func loadKeys() (k keys, err error) {
	if k.next, err = publicid.GenerateKey("next"); err != nil {
		return keys{}, err
	}
	if text := os.Getenv("PUBLICID_KEYS"); text != "" {
		k.now, err = publicid.ParseKeys(text)
		return k, err
	}
	temporary, err := publicid.GenerateKey("temporary")
	k.now = []publicid.Key{temporary}
	return k, err
}

// run is the program with injectable keys, generator and output.
func run(ctx context.Context, file string, keys keys, gen gormplugin.Generator, out io.Writer) error {
	if err := useKeys(keys.now); err != nil {
		return err
	}
	db, err := gorm.Open(sqlite.Open(file+"?_foreign_keys=on"), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := db.WithContext(ctx).AutoMigrate(&User{}, &Order{}); err != nil {
		return err
	}
	return tour(ctx, db, keys, out)
}
