package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	errNoInput = errors.New("there is no ID in the standard input")
	errUTF16   = errors.New("the input is UTF-16; convert it, such as with iconv -f UTF-16 -t UTF-8")
)

// eachWord calls one with each word of the standard input that may be an ID. It calls beforeRead before each read that
// can block.
func (s streams) eachWord(
	ctx context.Context, beforeRead func() error, one func(word string, line int) error,
) error {
	if isTerminal(s.in) {
		_, _ = io.WriteString(s.errs, "reading IDs from the terminal; end with Ctrl-D (on Windows Ctrl-Z and Enter)\n")
	}

	// An interrupt ends the pipe, but not the copy's read of a terminal.
	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	go func() {
		_, err := io.Copy(write, s.in)
		_ = write.CloseWithError(err) // nil is the end
	}()
	defer context.AfterFunc(ctx, func() { _ = write.CloseWithError(ctx.Err()) })()

	in, words := bufio.NewReaderSize(read, 64<<10), inputWords{one: one}
	for number := 1; ; number++ {
		if in.Buffered() == 0 {
			if err := beforeRead(); err != nil {
				return err
			}
		}
		line, readErr := in.ReadString('\n') // of any length
		if number == 1 && isUTF16(line) {
			return errUTF16
		}

		if err := words.read(line, number); err != nil {
			return err
		}
		switch {
		case readErr == io.EOF:
			return words.end()
		case readErr != nil:
			return readErr
		}
	}
}

func isUTF16(text string) bool {
	return strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
}

// inputWords passes on the words of lines.
type inputWords struct {
	one        func(word string, line int) error
	count      int
	header     []string // the first line if it has no digit, until the next one shows whether it is a header
	headerLine int
}

func (w *inputWords) read(line string, number int) error {
	words, areLabels := wordsOf(line)
	if areLabels && w.count == 0 {
		if w.header == nil {
			w.header, w.headerLine = words, number
			return nil
		}
		if err := w.each(w.header, w.headerLine); err != nil {
			return err
		}
	}
	return w.each(words, number)
}

func (w *inputWords) each(words []string, line int) error {
	for _, word := range words {
		if err := w.one(word, line); err != nil {
			return err
		}
		w.count++
	}
	return nil
}

// end passes on a header that was all.
func (w *inputWords) end() error {
	if w.count > 0 {
		return nil
	}
	if w.header == nil {
		return errNoInput
	}
	return w.each(w.header, w.headerLine)
}

// furniture matches lines that programs print around rows: (2 rows), in any language; 2 rows in set; and the like.
var furniture = regexp.MustCompile(`^\s*(\(\d{1,10} \pL+\)|\(?\d{1,10} rows?\b(?:\D+\d{1,5})*\D*|` +
	`Time: [\d.,]+ ms.*|-\[ RECORD \d+ \][-+]*|\*+ \d+\. row \*+)\s*$`)

// wordsOf returns the words of a line that may be IDs. If one of them is an ID, words without a digit are left out;
// else it returns all. areLabels reports that no word has a digit. A line that a program prints around rows has no
// words.
func wordsOf(line string) (words []string, areLabels bool) {
	switch {
	case strings.Trim(line, "0123456789\r\n") == "": // most inputs have an ID a line
		return strings.Fields(line), false
	case furniture.MatchString(line):
		return nil, false
	}

	hasLabels := false
	for word := range strings.FieldsFuncSeq(line, separates) {
		switch {
		case webLink.MatchString(word):
			words = append(words, idsOf(word)...)
		case strings.ContainsAny(word, "0123456789"):
			words = append(words, word)
		case !isPunctuation(word):
			hasLabels = true
		}
	}

	isID := func(word string) bool {
		_, err := readID(word, "auto")
		return err == nil
	}
	if !hasLabels || slices.ContainsFunc(words, isID) {
		return words, false
	}
	all := slices.DeleteFunc(strings.FieldsFunc(line, separates), isPunctuation)
	return all, len(words) == 0
}

func isPunctuation(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func separates(r rune) bool {
	return strings.ContainsRune(" \t\r\n\v\f\u00a0\u202f\ufeff,;\"'`|│[](){}", r)
}

// idsOf returns the parts of a URL that are IDs, or the URL if there is none. Others are numbers of pages and the like.
func idsOf(url string) (ids []string) {
	separatesParts := func(r rune) bool { return strings.ContainsRune("/?&=#:", r) }
	for part := range strings.FieldsFuncSeq(url, separatesParts) {
		_, err := parseID(part, "auto")
		isLong := len(part) > 10 && formOf(part) != "base62"
		if err == nil && isLong {
			ids = append(ids, part)
		}
	}

	if len(ids) == 0 {
		return []string{url}
	}
	return ids
}
