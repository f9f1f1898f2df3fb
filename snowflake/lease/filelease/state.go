package filelease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	stateFormat  = 1
	longestState = 64 << 10 // bytes; real state files have less than 2 KiB
)

// fileState is the content of a state file. People may read its JSON but not edit it: the checksum covers all other
// fields.
type fileState struct {
	Format    int        `json:"format"`
	Namespace string     `json:"namespace"`
	Worker    int64      `json:"worker"`
	Layout    string     `json:"layout"`
	Epoch     int64      `json:"epoch"`
	Horizon   int64      `json:"horizon"`
	Token     string     `json:"token"` // of the last owner
	Holder    fileHolder `json:"holder"`
	Checksum  string     `json:"checksum"` // CRC-32C of the JSON with an empty checksum
}

type fileHolder struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// encode returns the text of the state file.
func (s fileState) encode() ([]byte, error) {
	s.Format, s.Checksum = stateFormat, ""
	// JSON would replace invalid UTF-8, and the text would not read back as it was.
	s.Holder.Host = strings.ToValidUTF8(s.Holder.Host, "?")
	s.Holder.Version = strings.ToValidUTF8(s.Holder.Version, "?")
	text, err := encodeJSON(s)
	if err != nil {
		return nil, err
	}
	s.Checksum = fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	text, err = encodeJSON(s)
	if err == nil && len(text) > longestState {
		return nil, fmt.Errorf("%w: the state has %d bytes, the limit is %d", lease.ErrOption, len(text), longestState)
	}
	return text, err
}

// decodeState is the inverse of encode and accepts nothing else: a state that was cut off, edited, or mixed from two
// must not be read as another horizon.
func decodeState(text []byte) (fileState, error) {
	if len(text) > longestState {
		return fileState{}, fmt.Errorf("longer than %d bytes", longestState)
	}
	var s fileState
	if err := json.Unmarshal(text, &s); err != nil {
		return fileState{}, err
	}
	if s.Format != stateFormat {
		return fileState{}, fmt.Errorf("format %d, this version knows %d", s.Format, stateFormat)
	}
	again, err := s.encode()
	if err != nil {
		return fileState{}, err
	}
	switch {
	case !bytes.Equal(again, text):
		return fileState{}, errors.New("not as it was written: fields or checksum differ")
	case s.Worker < 0, s.Epoch < 1, s.Epoch == math.MaxInt64, s.Horizon < 0:
		return fileState{}, fmt.Errorf("worker %d, epoch %d or horizon %d out of range", s.Worker, s.Epoch, s.Horizon)
	}
	return s, nil
}

func (s fileState) claim() lease.Claim {
	return lease.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch, Token: s.Token}
}

// ownedBy reports whether the state is that of the claim, before its extension or after it.
func (s fileState) ownedBy(c lease.Claim) bool {
	return s.Namespace == c.Namespace && s.Worker == c.Worker && s.Epoch == c.Epoch && (s.Token == c.Token || s.Token == c.Next)
}

func (s fileState) entry(held bool) lease.Entry {
	return lease.Entry{
		Claim:   lease.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch},
		Layout:  s.Layout,
		Horizon: s.Horizon,
		Held:    held,
		Holder:  lease.Holder(s.Holder),
	}
}

// encodeJSON is json.MarshalIndent without escapes for '<', '>' and '&'.
func encodeJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return text.Bytes(), err
}
