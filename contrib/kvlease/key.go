package kvlease

import (
	"fmt"
	"net/url"
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
	number, err := strconv.ParseUint(last, 10, 63)
	worker = int64(number)
	return namespace, worker, err == nil && keyOf(namespace, worker) == key
}

// escape writes a name in the characters that every engine accepts in a key.
func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape, and returns false for what escape does not return.
func unescape(text string) (string, bool) {
	name, err := url.PathUnescape(strings.ReplaceAll(text, "=", "%"))
	return name, err == nil && escape(name) == text
}
