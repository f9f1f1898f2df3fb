package lease

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxNamespace = 100  // bytes
	maxLayout    = 1000 // bytes
	tokenDigits  = 32   // hexadecimal, so 128 bits
	minTTL       = time.Millisecond
)

// Validate returns an error that wraps [ErrOption] and names the value and the
// limit if a field is outside of what [Request] says: the namespace also has to
// be UTF-8 without a zero byte, which not every database stores, and the layout
// may have 1000 bytes at the most. Tick is not looked at, since a clock may stand
// before the layout's epoch. Every Store calls it before anything else in Acquire.
func (r Request) Validate() error {
	switch {
	case r.Namespace == "":
		return fmt.Errorf("%w: the namespace is empty", ErrOption)
	case len(r.Namespace) > maxNamespace:
		return fmt.Errorf("%w: the namespace %.20q... has %d bytes, at most %d are allowed",
			ErrOption, r.Namespace, len(r.Namespace), maxNamespace)
	case !utf8.ValidString(r.Namespace), strings.ContainsRune(r.Namespace, 0):
		return fmt.Errorf("%w: the namespace %q is not UTF-8 without zero bytes", ErrOption, r.Namespace)
	case len(r.Layout) > maxLayout:
		return fmt.Errorf("%w: the layout's text has %d bytes, at most %d are allowed", ErrOption, len(r.Layout), maxLayout)
	case r.First < 0:
		return fmt.Errorf("%w: the first worker is %d, the lowest is 0", ErrOption, r.First)
	case r.Last < r.First:
		return fmt.Errorf("%w: the last worker, %d, is below the first, %d", ErrOption, r.Last, r.First)
	case !isToken(r.Token):
		// The value is not printed: it may be a token with a slip of the keyboard.
		return fmt.Errorf("%w: the token has %d characters or other digits than 0-9 and a-f, want %d of these",
			ErrOption, len(r.Token), tokenDigits)
	}
	return ValidateTTL(r.TTL)
}

// ValidateTTL returns an error that wraps [ErrOption] if the time to live is below
// a millisecond, the unit in which stores keep an expiry.
func ValidateTTL(ttl time.Duration) error {
	if ttl < minTTL {
		return fmt.Errorf("%w: the TTL is %v, at least %v is needed", ErrOption, ttl, minTTL)
	}
	return nil
}

// isToken reports whether it is 32 hexadecimal digits. Capitals are refused: a
// database that compares without regard to case would take two for the same.
func isToken(s string) bool {
	return len(s) == tokenDigits && strings.Trim(s, "0123456789abcdef") == ""
}
