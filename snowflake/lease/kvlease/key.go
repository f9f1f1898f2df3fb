package kvlease

import (
	"fmt"
	"strconv"
	"strings"
)

const layoutKey = "layout" // takes the place of the worker's number

func keyOf(namespace string, worker int64) string {
	return fmt.Sprintf("%s%019d", prefixOf(namespace), worker)
}

// prefixOf returns what the keys of a namespace begin with.
func prefixOf(namespace string) string { return escape(namespace) + "/" }

// parseKey is the inverse of keyOf, and of a namespace's key of the layout, whose worker is -1.
func parseKey(key string) (namespace string, worker int64, ok bool) {
	name, last, found := strings.Cut(key, "/")
	namespace, ok = unescape(name)
	if !found || !ok {
		return "", 0, false
	}
	if last == layoutKey {
		return namespace, -1, true
	}
	worker, err := strconv.ParseInt(last, 10, 64)
	return namespace, worker, err == nil && worker >= 0 && keyOf(namespace, worker) == key
}

// escape writes a name in the characters that every engine accepts in a key.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape, and returns false for what escape does not return.
func unescape(text string) (string, bool) {
	var b strings.Builder
	for rest := text; rest != ""; {
		c := rest[0]
		n := 1
		if c == '=' && len(rest) >= 3 {
			code, err := strconv.ParseUint(rest[1:3], 16, 8)
			if err != nil {
				return "", false
			}
			c, n = byte(code), 3
		}
		b.WriteByte(c)
		rest = rest[n:]
	}
	return b.String(), escape(b.String()) == text
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
