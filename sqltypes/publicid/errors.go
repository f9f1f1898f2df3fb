package publicid

import (
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	// ErrToken means that a text is not a token of the codec: it has a wrong length or wrong characters, was changed or
	// invented, or belongs to another domain or to a key that the codec does not have. Except for the length and the
	// characters, these cases cannot be distinguished. Everything that reads tokens returns it, as a
	// [*snowflake.ParseError] that also matches [snowflake.ErrSyntax]. "Not found" is the best answer to a client.
	ErrToken = fmt.Errorf("publicid: not a token: %w", snowflake.ErrSyntax)

	// ErrNoToken means that the ID is 0, "no ID yet", or negative, which no generator issues. Everything that makes
	// tokens returns it.
	ErrNoToken = errors.New("publicid: the ID has no token")

	// ErrNoCodec means that a Codec is nil or did not come from New, usually because it is used before the program has
	// loaded its keys. Methods of Codec return it, and methods of an ID whose kind returns such a codec.
	ErrNoCodec = errors.New("publicid: no codec")

	// ErrKey means that keys are invalid: none at all, a bad ID, a secret of a wrong length or of 8 bytes twice, an ID
	// or a secret that occurs twice. New, GenerateKey and ParseKeys return it. The message never shows a secret.
	ErrKey = errors.New("publicid: invalid key")

	// ErrOption means that New got an empty domain or a nil Option.
	ErrOption = errors.New("publicid: invalid option")
)

func keyErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrKey}, args...)...)
}

// reject returns the error for input that is not an ID. Like those of package snowflake it keeps 40 bytes of the input.
func reject[T ~string | ~[]byte](err error, source string, input T, reason string) error {
	const limit = 40
	text := string(input[:min(len(input), limit)])
	if len(input) > limit {
		text = text[:limit-3] + "..."
	}
	return &snowflake.ParseError{Source: source, Input: text, Reason: reason, Err: err}
}

// rejectNull names the remedy for a nil source of Scan.
func rejectNull(src any, remedy string) error {
	source := "NULL"
	if src != nil {
		source = fmt.Sprintf("nil %T", src)
	}
	return reject(snowflake.ErrNull, source, "", remedy)
}
