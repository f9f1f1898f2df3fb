package publicid

import (
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	// ErrToken means that a text is not a token of the codec: it has a wrong length or wrong characters, was changed or
	// invented, or belongs to another domain or to a key that the codec does not have. Except for the length and the
	// characters, these cases cannot be distinguished. It is in a [*snowflake.ParseError] that also matches
	// [snowflake.ErrSyntax]. "Not found" is the best answer to a client.
	ErrToken = fmt.Errorf("publicid: not a token: %w", snowflake.ErrSyntax)

	// ErrNoToken means that the ID is 0, "no ID yet", or negative, which no generator issues.
	ErrNoToken = errors.New("publicid: the ID has no token")

	// ErrNoCodec means that a Codec, or that of an ID's kind, is nil or did not come from New, usually because it is used
	// before the program has loaded its keys.
	ErrNoCodec = errors.New("publicid: no codec")

	// ErrKey means that keys are invalid: none at all, a bad ID, a secret of a wrong length or of 8 bytes twice, an ID
	// or a secret that occurs twice. The message never shows a secret.
	ErrKey = errors.New("publicid: invalid key")
)

func keyErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrKey}, args...)...)
}
