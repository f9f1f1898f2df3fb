package scenario

import (
	"database/sql/driver"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// nativeUUID is a UUID in a column of PostgreSQL's type uuid.
type nativeUUID struct{ uuid.UUID }

// GormDBDataType is called by the migrator.
func (nativeUUID) GormDBDataType(*gorm.DB, *schema.Field) string { return "uuid" }

// bytesUUID is a UUID in 16 bytes, on databases whose drivers know no UUIDs.
type bytesUUID struct{ uuid.UUID }

// GormDBDataType is called by the migrator.
func (bytesUUID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	if db.Name() == "sqlite" {
		return "blob"
	}
	return "binary(16)"
}

// Value returns the 16 bytes.
func (u bytesUUID) Value() (driver.Value, error) { return u.UUID[:], nil }

// makeUUID sets a key that the application makes in a hook. The others are made by the plugin or the database.
func makeUUID(key any) (err error) {
	switch k := key.(type) {
	case *nativeUUID:
		k.UUID, err = uuid.NewV7()
	case *bytesUUID:
		k.UUID, err = uuid.NewV7()
	}
	return err
}
