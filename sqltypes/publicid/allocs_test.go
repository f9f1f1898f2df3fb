package publicid_test

import (
	"testing"
)

func TestReadingAndWritingTokensDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	eachForm(t, func(t *testing.T, f form) {
		codec := f.codec(newKey + "," + oldKey)
		token, old := mustToken(t, codec, number), mustToken(t, f.codec(oldKey), number)
		for name, run := range map[string]func(){
			"Parse":                 func() { keepID, keepErr = codec.Parse(token) },
			"Parse with an old key": func() { keepID, keepErr = codec.Parse(old) },
			"Open":                  func() { keepID, _, keepErr = codec.Open(token) },
		} {
			if n := testing.AllocsPerRun(1000, run); n != 0 || keepErr != nil {
				t.Errorf("%s: %v allocations, want 0; error %v", name, n, keepErr)
			}
		}
		if n := testing.AllocsPerRun(1000, func() { token, _ = codec.Token(number) }); n > 1 {
			t.Errorf("Token: %v allocations, want that of the text", n)
		}
	})

	id := userID(number)
	text, quoted := []byte(id.String()), []byte(`"`+id.String()+`"`)
	var column any = int64(number)
	buf := make([]byte, 0, 32)
	for name, run := range map[string]func(){
		"AppendText":    func() { buf, keepErr = id.AppendText(buf[:0]) },
		"UnmarshalText": func() { keepErr = id.UnmarshalText(text) },
		"UnmarshalJSON": func() { keepErr = id.UnmarshalJSON(quoted) },
		"Scan":          func() { keepErr = id.Scan(column) },
	} {
		if n := testing.AllocsPerRun(1000, run); n != 0 || keepErr != nil || id.SnowflakeID() != number {
			t.Errorf("%s of an ID: %v allocations, want 0; error %v", name, n, keepErr)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { keepBytes, keepErr = id.MarshalText() }); n > 1 {
		t.Errorf("MarshalText: %v allocations, want that of the text", n)
	}
}
