package publicid

import (
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Errors of codecs and keys, matched with errors.Is.
var (
	// ErrToken is returned by everything that reads tokens for a text that is none: a wrong length or wrong characters, a
	// token that was changed or made up, one of another domain, one of a key that the codec does not have. But for the
	// first two these can't be told apart. The error is a [*snowflake.ParseError] and also matches [snowflake.ErrSyntax], so
	// a program may answer it as it answers other bad IDs; "not found" suits best.
	ErrToken = fmt.Errorf("publicid: not a token: %w", snowflake.ErrSyntax)

	// ErrNoToken is returned by everything that makes tokens for the ID 0, which means "no ID yet", and for negative IDs,
	// which no generator issues.
	ErrNoToken = errors.New("publicid: the ID has no token")

	// ErrNoCodec is returned by the methods of a nil *Codec and of a Codec that did not come from New, and by those of an
	// ID whose kind returns such a codec: usually it is used before the program has loaded its keys.
	ErrNoCodec = errors.New("publicid: no codec")

	// ErrKey is returned by New, NewKey, GenerateKey, ParseKey and ParseKeys, and by Key.UnmarshalText, for keys that can't
	// be: none at all, a bad ID, a secret of a wrong length or of equal bytes, an ID or a secret that comes twice. The
	// message never shows a secret.
	ErrKey = errors.New("publicid: invalid key")

	// ErrDomain is returned by New for the empty domain.
	ErrDomain = errors.New("publicid: the domain is empty")
)

// maxErrorInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxErrorInput = 40

// shorten cuts input for a message, and copies it, so that the input of a successful call need not live on the heap.
func shorten[T ~string | ~[]byte](input T) string {
	if len(input) <= maxErrorInput {
		return string(input)
	}
	return string(input[:maxErrorInput-3]) + "..."
}

func parseError[T ~string | ~[]byte](err error, source string, input T, reason string) *snowflake.ParseError {
	return &snowflake.ParseError{Source: source, Input: shorten(input), Reason: reason, Err: err}
}

func keyErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrKey}, args...)...)
}
