package filelease

import (
	"encoding/base32"
	"strconv"
	"strings"
)

const (
	namespacePrefix = "ns-" // keeps out ".", "..", and names such as "con" that Windows reserves
	longestName     = 200   // of a folder, in bytes; file systems allow 255
)

// namespaceFolder returns the name of the folder of a namespace. No two
// namespaces have the same, not even where file names ignore case: small letters,
// digits, '-', '_' and '.' stand for themselves, other bytes are "%" and two
// hexadecimal digits; if that gets too long for a file name, all of it is base32.
func namespaceFolder(namespace string) string {
	const digits = "0123456789abcdef"
	name := []byte(namespacePrefix)
	for i := range len(namespace) {
		c := namespace[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.' && i < len(namespace)-1: // Windows drops a dot at the end
			name = append(name, c)
		default:
			name = append(name, '%', digits[c>>4], digits[c&15])
		}
	}
	if len(name) <= longestName {
		return string(name)
	}
	code := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(namespace))
	return namespacePrefix + "=" + strings.ToLower(code)
}

// workerOfFile returns the number of the worker whose state a file holds, by its name.
func workerOfFile(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, stateSuffix)
	if !ok {
		return 0, false
	}
	worker, err := strconv.ParseInt(digits, 10, 64)
	return worker, err == nil && worker >= 0 && strconv.FormatInt(worker, 10) == digits
}
