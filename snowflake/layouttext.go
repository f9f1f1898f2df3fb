package snowflake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the layout's text form, for configuration files and logs:
//
//	epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12
//
// Fields are listed from the highest bit to the lowest, each with its width in bits. Equal layouts have equal texts.
// The zero Layout is "".
func (l Layout) String() string {
	if l.bits == 0 {
		return ""
	}

	var b strings.Builder
	fmt.Fprintf(&b, "epoch=%s tick=%v", l.Epoch().Format(time.RFC3339Nano), l.Tick())
	for name, at := range l.slots() {
		fmt.Fprintf(&b, " %s:%d", name, at.Width)
	}

	return b.String()
}

// MarshalText returns the text of String. The error is always nil.
func (l Layout) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is ParseLayout, but the empty text is the zero Layout. On an error the layout is unchanged.
func (l *Layout) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Layout{}
		return nil
	}
	parsed, err := ParseLayout(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

// ParseLayout reads the text of String, and more: epoch and tick may stand anywhere among the fields, the epoch is any
// time of RFC 3339, and the tick anything that time.ParseDuration takes. A text of one word is the name of a preset,
// such as "twitter" (see Preset). An error matches ErrLayout.
func ParseLayout(text string) (Layout, error) {
	if words := strings.Fields(text); len(words) == 1 && !strings.ContainsAny(words[0], "=:") {
		return Preset(words[0])
	}
	return parseFields(text)
}

// parseFields reads the text of a layout that is not a preset's name.
func parseFields(text string) (Layout, error) {
	var (
		epoch  time.Time
		tick   time.Duration
		fields []Field
		given  = map[string]bool{}
	)

	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			name, width, ok := strings.Cut(word, ":")
			bits, err := strconv.ParseUint(width, 10, 8)
			if !ok || err != nil {
				return Layout{}, layoutError("%q: want epoch=, tick= or name:bits", word)
			}
			fields = append(fields, Field{Name: name, Bits: int(bits)})
			continue
		}

		if given[key] {
			return Layout{}, layoutError("%s given twice", key)
		}
		given[key] = true

		var err error
		switch key {
		case "epoch":
			epoch, err = time.Parse(time.RFC3339Nano, value)
		case "tick":
			tick, err = time.ParseDuration(value)
		default:
			return Layout{}, layoutError("%q: want epoch=, tick= or name:bits", word)
		}
		if err != nil {
			return Layout{}, fmt.Errorf("%w: %s: %w", ErrLayout, key, err)
		}
	}

	for _, key := range []string{"epoch", "tick"} {
		if !given[key] {
			return Layout{}, layoutError("no %s= in %q", key, text)
		}
	}

	return NewLayout(epoch, tick, fields...)
}
