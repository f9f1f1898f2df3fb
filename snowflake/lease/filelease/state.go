package filelease

import (
	"fmt"
	"math"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// stateFormat has the version of the protocol at the end.
const stateFormat = "sqlflake lease file 1"

// fileState is the content of a state file.
type fileState struct {
	Format    string `json:"format"`
	Namespace string `json:"namespace"`
	Worker    int64  `json:"worker"`
	Layout    string `json:"layout"`
	Epoch     int64  `json:"epoch"`
	Horizon   int64  `json:"horizon"`
	Token     string `json:"token"` // of the last owner
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Reserved  bool   `json:"reserved,omitempty"` // no lease gets the worker, whoever has the lock
}

// decodeState accepts only what checksummed.Marshal makes of a state, and not if a value is out of range.
func decodeState(text []byte) (s fileState, err error) {
	if err = checksummed.Unmarshal(text, &s); err == nil {
		err = checksummed.CheckFormat(s.Format, stateFormat, s.Namespace)
	}
	if err != nil {
		return s, err
	}

	isNegative := s.Worker < 0 || s.Horizon < 0
	if isEpoch := 1 <= s.Epoch && s.Epoch < math.MaxInt64; isNegative || !isEpoch {
		return s, fmt.Errorf("worker %d, epoch %d or horizon %d out of range", s.Worker, s.Epoch, s.Horizon)
	}
	return s, nil
}

func (s fileState) claim() leasestore.Claim {
	return leasestore.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch, Token: s.Token}
}

// ownedBy reports whether the claim owns the state, before its extension or after it.
func (s fileState) ownedBy(c leasestore.Claim) bool {
	return s.Namespace == c.Namespace && s.Worker == c.Worker && s.Epoch == c.Epoch &&
		(s.Token == c.Token || s.Token == c.Next)
}

func (s fileState) entry(held bool) leasestore.Entry {
	return leasestore.Entry{
		Claim:   leasestore.Claim{Namespace: s.Namespace, Worker: s.Worker, Epoch: s.Epoch},
		Layout:  s.Layout,
		Horizon: s.Horizon,
		Held:    held || s.Reserved,
		Holder:  leasestore.Holder{Host: s.Host, PID: s.PID, Version: s.Version},
	}
}
