package advise

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestAdviseFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-rate -1":       "-rate: -1 rows a second is not above 0",
		"-workers 0":     "-workers: 0 is out of range [1, 1000]",
		"-db oracle":     `-db: unknown database "oracle"`,
		"-skew 20":       `invalid value "20" for flag -skew`,
		"-format xml":    `-format: unknown format "xml"`,
		"postgres":       `unknown argument "postgres"`,
		"-rows 100":      "flag provided but not defined: -rows",
		"-db spanner -h": flag.ErrHelp.Error(),
	} {
		var out, help bytes.Buffer
		err := Command(t.Context(), strings.Fields(args), &out, &help)
		if err == nil || !strings.HasPrefix(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: error %v, want one that begins with %q; output %q", args, err, want, &out)
		}
		if errors.Is(err, flag.ErrHelp) && !strings.Contains(help.String(), "go run ./storage -advise -db postgres -workers 16") {
			t.Errorf("no example in\n%s", &help)
		}
	}
}

func TestAdviseAnswers(t *testing.T) {
	var out, help bytes.Buffer
	if err := Command(t.Context(), strings.Fields("-db mariadb -workers 16 -format json"), &out, &help); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Database string
		Expected struct{ Density float64 }
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Database != "mariadb" ||
		answer.Expected.Density < 0.3 {
		t.Errorf("%+v, %v, from\n%s", answer, err, &out)
	}
	out.Reset()
	if err := Command(t.Context(), nil, &out, &help); err != nil || !strings.Contains(out.String(), "PostgreSQL") {
		t.Errorf("%v\n%s", err, &out)
	}
}
