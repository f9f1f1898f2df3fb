package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// Exit codes. A command ends by what it returns:
//
//	nil            exitOK
//	errFindings    exitFindings: an audit has printed what it found
//	errReported    exitFailed: the command has printed each failure
//	a usageError   exitUsage: the text is printed, and the usage
//	another error  exitFailed: the text is printed
//
// After an interrupt any error is exitInterrupted, and after the end of who reads the output exitOK.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFindings    = 3
	exitInterrupted = 130 // 128 + SIGINT
)

var (
	errFindings = errors.New("findings")
	errReported = errors.New("reported")
)

// usageError is about wrong arguments.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// usage returns a usageError.
func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// exitCode prints the error that a command has returned, unless that was done, and returns the exit code.
func exitCode(ctx context.Context, c *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}

	switch {
	case errors.Is(err, errFindings):
		return exitFindings
	case ctx.Err() != nil:
		c.PrintErrf("%s: interrupted\n", c.CommandPath())
		return exitInterrupted
	case isUsage(c, err):
		printUsage(c, err)
		return exitUsage
	case !errors.Is(err, errReported):
		c.PrintErrf("%s: %s\n", c.CommandPath(), messageOf(err))
	}

	return exitFailed
}

// isUsage reports whether an error is about arguments. So is every error before the end of prepare.
func isUsage(c *cobra.Command, err error) bool {
	var wrong usageError
	isPrepared := c.HasParent() && c.SilenceUsage
	return errors.As(err, &wrong) || !isPrepared
}

// printUsage prints the error and how to call the command. A DSN that was given to the wrong flag is not printed.
func printUsage(c *cobra.Command, err error) {
	if secret.MatchString(err.Error()) {
		err = errSecret
	}
	c.PrintErrf("%s: %s\n\nUsage: %s\n\"%[1]s --help\" shows the flags, and examples.\n",
		c.CommandPath(), strings.TrimSpace(messageOf(err)), c.UseLine())
}

// packages matches the names of packages that begin the texts of their errors, once or several times.
var packages = regexp.MustCompile(`(^|\n|: )(?:(?:snowflake|lease|sqllease|filelease|sqldb|sqlfunc|partition): )+`)

// messageOf returns the text of an error for a person who has called a command, not a package.
func messageOf(err error) string {
	text, answer := err.Error(), ""
	var fromPostgres *pgconn.PgError
	var fromMySQL *mysql.MySQLError
	switch {
	case errors.As(err, &fromPostgres):
		answer = fromPostgres.Error()
	case errors.As(err, &fromMySQL):
		answer = fromMySQL.Error()
	}

	// What a server says is left as it is.
	before, after, found := strings.Cut(text, answer)
	if answer == "" || !found {
		return packages.ReplaceAllString(text, "$1")
	}
	return packages.ReplaceAllString(before, "$1") + answer + after
}

// secret matches what may have a password. No message has such an argument: a person can give a DSN to the wrong flag.
var secret = regexp.MustCompile(`(?is)://|:.*@|@.*[:(/]|(pass|pwd|secret|key|token)\w*\s*[=(]`)

var errSecret = errors.New("an argument that is not printed looks like a DSN; give it with --dsn, or in SQLFLAKE_DSN")

// webLink matches the URLs of web pages. A database URL begins differently.
var webLink = regexp.MustCompile(`^https?://`)

// looksSecret reports whether a text may have a password. The URL of a web page has none, unless the rest looks like
// one.
func looksSecret(text string) bool { return secret.MatchString(webLink.ReplaceAllString(text, "")) }
