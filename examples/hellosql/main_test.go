package main

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

func TestTheKeyIsPrinted(t *testing.T) {
	exampletest.Check(t, exampletest.Output(t, main), "Ada is <1>\n")
}
