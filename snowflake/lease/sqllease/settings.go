package sqllease

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// settings are what a namespace has been told. The row of the namespace has them as its version, in JSON.
type settings struct {
	Workers *[2]int64 `json:"workers,omitempty"` // the share: the first and the last worker that leases may have; nil: all
}

// String returns what parseSettings reads: nothing if nothing is set.
func (s settings) String() string {
	if s == (settings{}) {
		return ""
	}
	text, _ := json.Marshal(s) // never fails
	return string(text)
}

// parseSettings accepts what String returns. Anything else is of a later version.
func parseSettings(namespace, text string) (s settings, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &s)
	}
	if first, last := s.share(); err != nil || s.String() != text || first < 0 || last < first {
		return s, &lease.VersionError{Namespace: namespace, Version: strconv.Quote(text)}
	}
	return s, nil
}

// share returns which workers leases may have.
func (s settings) share() (first, last int64) {
	if s.Workers == nil {
		return 0, math.MaxInt64
	}
	return s.Workers[0], s.Workers[1]
}

func (s settings) has(worker int64) bool {
	first, last := s.share()
	return first <= worker && worker <= last
}
