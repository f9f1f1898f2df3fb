package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// One handler answers many requests.
func TestAnAnswerDoesNotDependOnThoseBefore(t *testing.T) {
	keys, err := publicid.ParseKeys("2026a:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		t.Fatal(err)
	}
	if err := useKeys(keys); err != nil {
		t.Fatal(err)
	}
	text, err := publicid.IDFrom[userKind](5).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	handler := serve(http.StatusCreated, func(r *http.Request) (any, error) {
		var in struct {
			ID   UserID `json:"id"`
			Name string `json:"name"`
		}
		err := json.NewDecoder(r.Body).Decode(&in)
		return in, err
	})
	good := `{"id":"` + string(text) + `","name":"Ada"}`
	for _, test := range []struct {
		body   string
		status int
		answer string
	}{
		{good, http.StatusCreated, good},
		{`{"id":"5"}`, http.StatusNotFound, `{"error":"not found"}`},
		{good, http.StatusCreated, good},
		{`{"id":`, http.StatusBadRequest, `{"error":"bad JSON"}`},
		{`{"name":}`, http.StatusBadRequest, `{"error":"bad JSON"}`},
		{`{"name":5}`, http.StatusBadRequest, `{"error":"bad JSON"}`},
		{`{"name":"` + strings.Repeat("a", maxBody) + `"}`, http.StatusBadRequest, `{"error":"bad JSON"}`},
		{``, http.StatusBadRequest, `{"error":"bad JSON"}`},
		{`{}`, http.StatusInternalServerError, `{"error":"internal"}`}, // the ID 0 has no token to answer with
		{good, http.StatusCreated, good},
	} {
		answer := httptest.NewRecorder()
		handler(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body)))
		if answer.Code != test.status || answer.Body.String() != test.answer {
			t.Errorf("%.50s: %d %s, want %d %s", test.body, answer.Code, answer.Body, test.status, test.answer)
		}
	}
}
