//go:build go1.27

package publicid_test

import (
	"testing"
	"uuid"
)

// The UUID type of the standard library is new in Go 1.27.
func TestUUIDsGoThroughTheStandardLibraryAndBack(t *testing.T) {
	codec := uuidCodec(newKey + "," + oldKey)
	for _, id := range someIDs() {
		u, err := uuid.Parse(mustToken(t, codec, id))
		if err != nil || u[6]>>4 != 4 || u[8]>>6 != 0b10 {
			t.Fatalf("%v of %d: %v, want version 4", u, id, err)
		}
		if got, err := codec.Parse(u.String()); got != id || err != nil {
			t.Fatalf("%q is read as %d, %v, want %d", u, got, err, id)
		}
	}
	for range 1000 {
		wantRejected(t, codec, uuid.New().String(), "no key of domain")
	}
}
