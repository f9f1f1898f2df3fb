package key

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
)

// random is a client's source of randomness: a cipher's stream that is as fast as a usual source and repeats for the
// same seed.
func random(c Config) io.Reader {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], c.Seed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(c.Client))
	return rand.NewChaCha8(seed)
}

type uuids struct {
	random io.Reader
	make   func(random io.Reader) (uuid.UUID, error)
}

func (u uuids) Draw(dst []any) error {
	for i := range dst {
		id, err := u.make(u.random)
		if err != nil {
			return err
		}
		dst[i] = [16]byte(id)
	}
	return nil
}

func uuidV4(c Config) (Source, error) {
	return uuids{random(c), uuid.NewRandomFromReader}, nil
}

// uuidV7 keys are in order within a process, by the twelve bits below the millisecond (RFC 9562, section 6.2, method
// 3).
func uuidV7(c Config) (Source, error) {
	return uuids{random(c), uuid.NewV7FromReader}, nil
}

// asText returns a source of UUIDs as text of 36 characters.
func asText(source func(Config) (Source, error)) func(Config) (Source, error) {
	return func(c Config) (Source, error) {
		inner, err := source(c)
		return text{inner}, err
	}
}

type text struct{ Source }

func (t text) Draw(dst []any) error {
	if err := t.Source.Draw(dst); err != nil {
		return err
	}
	for i, value := range dst {
		dst[i] = uuid.UUID(value.([16]byte)).String()
	}
	return nil
}

// ulids are monotonic within a client and have 26 characters.
func ulids(c Config) (Source, error) {
	return &ulidSource{ulid.Monotonic(random(c), 0)}, nil
}

type ulidSource struct{ entropy *ulid.MonotonicEntropy }

func (u *ulidSource) Draw(dst []any) error {
	for i := range dst {
		id, err := ulid.New(ulid.Timestamp(time.Now()), u.entropy)
		if err != nil {
			return err
		}
		dst[i] = id.String()
	}
	return nil
}
