package main

import (
	"regexp"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

func TestUserIsPrintedWithItsKey(t *testing.T) {
	out := exampletest.Output(t, main)

	got := regexp.MustCompile(`"20[^"]*"`).ReplaceAllString(out, `"<time>"`)
	exampletest.Check(t, got, `{"id":"<1>","created_at":"<time>","updated_at":"<time>","name":"Ada"}`+"\n")
}
