package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	errNoInput = errors.New("there is no ID in the standard input")
	errUTF16   = errors.New("the input is UTF-16; convert it, such as with iconv -f UTF-16 -t UTF-8")
)

// eachInput reads the standard input. It calls beforeRead before a read that may wait.
func eachInput(
	ctx context.Context, c *cobra.Command, beforeRead func() error, one func(word string, line int) error,
) error {
	if f, ok := c.InOrStdin().(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		c.PrintErrln("reading IDs from the terminal; end with Ctrl-D (on Windows Ctrl-Z and Enter)")
	}

	// An interrupt ends the pipe, but not the copy's read of a terminal.
	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	go func() {
		_, err := io.Copy(write, c.InOrStdin())
		_ = write.CloseWithError(err) // nil is the end
	}()
	defer context.AfterFunc(ctx, func() { _ = write.CloseWithError(ctx.Err()) })()

	in, words := bufio.NewReaderSize(read, 64<<10), inputWords{one: one}
	for number := 1; ; number++ {
		if in.Buffered() == 0 { // the read may wait
			if err := beforeRead(); err != nil {
				return err
			}
		}
		line, readErr := in.ReadString('\n') // of any length
		if number == 1 {
			if strings.HasPrefix(line, "\xff\xfe") || strings.HasPrefix(line, "\xfe\xff") {
				return errUTF16
			}
			line = strings.TrimPrefix(line, "\ufeff")
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

// inputWords passes on the words of lines.
type inputWords struct {
	one        func(word string, line int) error
	count      int
	header     []string // a first line without a digit, which is one if the next line with words has digits
	headerLine int
}

func (w *inputWords) read(line string, number int) error {
	words, areLabels := wordsOf(line)
	switch isBeforeIDs := areLabels && w.count == 0; {
	case isBeforeIDs && w.header == nil:
		w.header, w.headerLine = words, number
		return nil
	case isBeforeIDs:
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

// wordsOf returns the words of a line that may be IDs. Words without a digit are left out beside an ID. A line without any
// digit is returned whole, and true, but for punctuation.
func wordsOf(line string) (words []string, areLabels bool) {
	switch {
	case strings.Trim(line, "0123456789\r\n") == "": // most inputs have an ID a line
		return strings.Fields(line), false
	case furniture.MatchString(line):
		return nil, false
	}

	line = joinGroups(line)
	hasLabels := false
	for word := range strings.FieldsFuncSeq(line, separates) {
		switch {
		case webLink.MatchString(word):
			words = append(words, idsOf(word)...)
		case strings.ContainsAny(word, "0123456789"):
			words = append(words, word)
		default:
			hasLabels = hasLabels || !isPunctuation(word)
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
	return strings.ContainsRune(" \t\r\n\v\f\u00a0\u202f,;\"'`|│[](){}", r)
}

// groups matches numbers with one character between them; grouped what joinGroups makes of a number whose digits are in
// groups of three, such as 1,582,917,533,873,852,417. Fewer groups are several numbers as well, all too small for an ID.
var (
	groups = regexp.MustCompile(`\b\d+(?:(?:,\d{1,3}\b){5,}|(?:\.\d{1,3}\b){5,}|(?:'\d{1,3}\b){5,}|(?:’\d{1,3}\b){5,}|` +
		`(?: \d{1,3}\b){5,}|(?:\x{a0}\d{1,3}\b){5,}|(?:\x{202f}\d{1,3}\b){5,})`)
	grouped = regexp.MustCompile(`^\d{1,3}(_\d{3}){5,6}$`)
	inGroup = strings.NewReplacer(",", "_", ".", "_", "'", "_", "’", "_", " ", "_", "\u00a0", "_", "\u202f", "_")
)

// joinGroups writes underscores for the characters between groups of digits, which would separate words.
func joinGroups(line string) string {
	const longest = 1 << 16 // of a line for people; JSON has no groups
	isBetween := func(mark string) bool { return strings.Count(line, mark) >= 5 }
	if len(line) > longest || !slices.ContainsFunc([]string{",", ".", "'", "’", " ", "\u00a0", "\u202f"}, isBetween) {
		return line
	}

	return groups.ReplaceAllStringFunc(line, func(found string) string {
		if joined := inGroup.Replace(found); grouped.MatchString(joined) {
			return joined
		}
		return found // a row of numbers
	})
}

// webLink matches URLs that people copy. That of a database begins otherwise.
var webLink = regexp.MustCompile(`^https?://`)

// idsOf returns the parts of a URL that are IDs, or the URL if there is none. Others are numbers of pages and the like.
func idsOf(url string) (ids []string) {
	for part := range strings.FieldsFuncSeq(url, func(r rune) bool { return strings.ContainsRune("/?&=#:", r) }) {
		if _, err := parseID(part, "auto"); err == nil && len(part) > 10 && formOf(part) != "base62" {
			ids = append(ids, part)
		}
	}
	if len(ids) == 0 {
		return []string{url}
	}
	return ids
}

// around matches what programs and chats write around an ID: id=1, <@1>, :1, 1n, 1L, 1::bigint.
var around = regexp.MustCompile(`(?s)^(?:[A-Za-z$_.-]*[:=<>@#&!]+)*(.*?)(?:[nL]|::\w+)?[>:=.]*$`)

// readID reads a word of an input.
func readID(word, form string) (snowflake.ID, error) {
	const longest = 200 // of an ID and what is around it
	id, err := parseID(word, form)
	if err != nil && len(word) <= longest {
		if bare, bareErr := parseID(around.FindStringSubmatch(word)[1], form); bareErr == nil {
			return bare, nil
		}
	}
	return id, err
}

// looksSecret reports whether a text may have a password. A URL of the web has none, unless the rest looks like it.
func looksSecret(text string) bool { return secret.MatchString(webLink.ReplaceAllString(text, "")) }

// reasonOf returns the error without what it repeats.
func reasonOf(text string, err error) string {
	var of *snowflake.ParseError
	switch {
	case looksSecret(text):
		return "it looks like a DSN, and is not an ID"
	case webLink.MatchString(text):
		return "it is a URL without an ID"
	case errors.As(err, &of):
		return fmt.Sprintf("%.40q is not an ID: %s", text, of.Reason)
	}
	return err.Error()
}
