package main

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestBadInputIsRefusedWithAReasonAndStoresNothing(t *testing.T) {
	c := onSQLite(t, "id")
	long := "https://example.com/" + strings.Repeat("a", maxURL)
	for _, test := range []struct {
		body   string
		status int
		reason string
	}{
		{``, 400, "the body is not"},
		{`{`, 400, "the body is not"},
		{`[]`, 400, "the body is not"},
		{`{"url":5}`, 400, "the body is not"},
		{`{"url":"https://example.com/"} {}`, 400, "the body is not"},
		{"{\"url\":\"https://example.com/\xff\"}", 400, "UTF-8"},
		{`{}`, 400, "no URL to shorten"},
		{`{"url":" "}`, 400, "no URL to shorten"},
		{`{"url":"example.com"}`, 400, "begin with https://"},
		{`{"url":"//example.com/"}`, 400, "begin with https://"},
		{`{"url":"javascript:alert(1)"}`, 400, "begin with https://"},
		{`{"url":"JavaScript://example.com/%0aalert(1)"}`, 400, "begin with https://"},
		{`{"url":"data:text/html,<script>alert(1)</script>"}`, 400, "begin with https://"},
		{`{"url":"file:///etc/passwd"}`, 400, "begin with https://"},
		{`{"url":"ftp://example.com/"}`, 400, "begin with https://"},
		{`{"url":"https://exa mple.com/"}`, 400, "not a URL"},
		{`{"url":"https://example.com/%zz"}`, 400, "not a URL"},
		{`{"url":"https://example.com/\r\nSet-Cookie: a=b"}`, 400, "not a URL"},
		{`{"url":"https://example.com/#\u0000"}`, 400, "not a URL"},
		{`{"url":"https:///path"}`, 400, "no valid host"},
		{`{"url":"https:example.com"}`, 400, "no valid host"},
		{`{"url":"https://:443/"}`, 400, "no valid host"},
		{`{"url":"https://example.com:99999/"}`, 400, "no valid host"},
		{`{"url":"https://bücher.example/"}`, 400, "no valid host"},
		{`{"url":"https://[fe80::1%25eth0]/"}`, 400, "no valid host"},
		{`{"url":"https://127.1/"}`, 400, "no valid host"},
		{`{"url":"https://0x7f000001/"}`, 400, "no valid host"},
		{`{"url":"https://@evil.example/"}`, 400, "user name"},
		{`{"url":"https://bank.example@evil.example/"}`, 400, "user name"},
		{`{"url":"` + long + `"}`, 400, "the limit is 4096"},
		{`{"url":"` + long + strings.Repeat("a", maxBody) + `"}`, 413, "longer than 32768 bytes"},
	} {
		a := c.want(test.body[:min(len(test.body), 60)], c.send("POST", "/api/links", strings.NewReader(test.body)), test.status)
		if !strings.Contains(a.Error, test.reason) || len(a.body) > 500 {
			t.Errorf("%.60s: %s, want %q", test.body, a.body, test.reason)
		}
	}
	for what, body := range map[string]io.Reader{ // the second without a Content-Length
		"10 MB":          strings.NewReader(strings.Repeat("x", 10<<20)),
		"10 MB, chunked": io.LimitReader(spaces{}, 10<<20),
	} {
		c.want(what, c.send("POST", "/api/links", body), 413)
	}
	good := func() io.Reader { return strings.NewReader(`{"url":"https://example.com/"}`) }
	c.want("a form", c.send("POST", "/api/links", good(), "Content-Type", "application/x-www-form-urlencoded"), 415)
	c.want("no type", c.send("POST", "/api/links", good(), "Content-Type", ""), 415)
	c.want("from another site", c.send("POST", "/api/links", good(), "Sec-Fetch-Site", "cross-site"), 403)
	for path, status := range map[string]int{
		"/api/links?after=x": 400, "/api/links?after=1e3": 400, "/api/links?after=99999999999999999999": 400,
		"/api/links?limit=0": 400, "/api/links?limit=101": 400, "/api/links?limit=-1": 400, "/api/links?limit=x": 400,
		"/api/admin/ids/x": 400, "/api/admin/ids/1%27": 400, "/api/admin/ids/": 404, "/api": 404, "/api/x": 404, "/a/b": 404,
	} {
		c.want(path, c.get(path), status)
	}
	for path, allow := range map[string]string{
		"/api/links": "GET, HEAD, POST", "/api/links/x": "DELETE", "/": "GET, HEAD", "/x": "GET, HEAD", "/static/page.js": "GET, HEAD",
	} {
		a := c.want("PUT "+path, c.send("PUT", path, good()), 405)
		if got := a.header.Get("Allow"); got != allow {
			t.Errorf("PUT %s: Allow is %q, want %q", path, got, allow)
		}
	}
	if n := c.rows(); n != 0 {
		t.Errorf("%d links were stored", n)
	}
}

func TestABrowserGetsPages(t *testing.T) {
	c := onSQLite(t, "id")
	if a := c.get("/admin"); a.status != http.StatusFound || a.header.Get("Location") != "/admin/" {
		t.Errorf("/admin: %d to %q", a.status, a.header.Get("Location"))
	}
	for path, text := range map[string]string{"/gone": "no link has this code", "/api/links?after=<b>": "after=&lt;b&gt; is not an ID"} {
		a := c.send("GET", path, nil, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, text) || a.status < 400 {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
}

func TestABodyThatDoesNotArriveIsNotTheFaultOfTheDatabase(t *testing.T) {
	c := onSQLite(t, "id")
	for what, test := range map[string]struct {
		err    error
		status int
		reason string
	}{
		"slow": {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, 408, "did not arrive in time"},
		"cut":  {io.ErrUnexpectedEOF, 408, "did not arrive"},
	} {
		request := httptest.NewRequest("POST", "/api/links", iotest.ErrReader(test.err))
		request.Header.Set("Content-Type", "application/json")
		a := httptest.NewRecorder()
		c.handler().ServeHTTP(a, request)
		if a.Code != test.status || !strings.Contains(a.Body.String(), test.reason) {
			t.Errorf("%s: %d %s, want %d %s", what, a.Code, a.Body, test.status, test.reason)
		}
	}
}

// The body arrives after a minute, on the clock of the test.
func TestTheTimeForTheAnswerBeginsAfterTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := iotest.OneByteReader(strings.NewReader(`{"url":"https://example.com/"}`))
		request := httptest.NewRequest("POST", "/", readerFunc(func(p []byte) (int, error) {
			time.Sleep(2 * time.Second)
			return body.Read(p)
		}))
		request.Header.Set("Content-Type", "application/json")
		s := &service{config: config{limit: requestTime}}
		s.limited(func(w http.ResponseWriter, r *http.Request) error {
			given, err := readURL(r)
			if at, ok := r.Context().Deadline(); given != "https://example.com/" || err != nil || !ok || time.Until(at) != requestTime {
				t.Errorf("%q, error %v, %v until %v", given, err, ok, at)
			}
			return nil
		})(httptest.NewRecorder(), request)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// spaces is an endless body.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestOneAddressHasOneText(t *testing.T) {
	for text, want := range map[string]string{
		" https://example.com ":            "https://example.com/",
		"HTTP://Example.COM:80/A?B#C":      "http://example.com:80/A?B#C",
		"https://example.com?q=a b&c=ü":    "https://example.com/?q=a%20b&c=%C3%BC",
		"https://example.com/ü /%2f%C3%BC": "https://example.com/%C3%BC%20/%2f%C3%BC",
		"https://example.com#a b\n":        "https://example.com/#a%20b",
		"https://[2001:DB8::1]:8443/":      "https://[2001:db8::1]:8443/",
		"https://192.0.2.1/":               "https://192.0.2.1/",
		"https://xn--bcher-kva.example./":  "https://xn--bcher-kva.example./",
		"https://example.com/{a}'%2F/?{b}": "https://example.com/{a}'%2F/?{b}",
	} {
		got, _, err := parseTarget(text)
		again, _, errAgain := parseTarget(got)
		if got != want || again != got || err != nil || errAgain != nil {
			t.Errorf("%q is %q, want %q; again %q, %v, %v", text, got, want, again, err, errAgain)
		}
	}
}

func TestTextThatIsNoCodeIsNotFound(t *testing.T) {
	other := map[string]string{} // the codes of one row
	for _, kind := range kinds {
		c := onSQLite(t, kind)
		if err := c.db.Create(&Link{ID: 175928847303311367, Hash: make([]byte, 32), URL: "https://example.com/", Number: 5}).Error; err != nil {
			t.Fatal(err)
		}
		link, err := c.codes.code(&Link{ID: 175928847303311367, Number: 5})
		if err != nil {
			t.Fatal(err)
		}
		other[kind] = link
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := onSQLite(t, kind)
			if err := c.db.Create(&Link{ID: 175928847303311367, Hash: make([]byte, 32), URL: "https://example.com/", Number: 5}).Error; err != nil {
				t.Fatal(err)
			}
			good := other[kind]
			c.want("the code", c.get("/"+good), 302)
			codes := []string{
				"0", "00", "0000000000", "00000000000", "0" + good, good + "0", good[1:], "-" + good, "+" + good, "%20" + good, good + "%00",
				"zzzzzzz", "zzzzzzzz", "AzL8n0Y58m7", "AzL8n0Y58m8", "LygHa16AHYF", "LygHa16AHYG", "zzzzzzzzzzz", "-0000000001", // 2^63 and 2^64
				strings.Repeat("z", 22), strings.Repeat("A", 26), strings.Repeat("z", 5000), "175928847303311367", "9223372036854775808",
				"1%27%20OR%20%271%27=%271", "1;DROP%20TABLE%20links", "1%20OR%201=1--", "id", "%ff%fe", "caf%C3%A9", "..%2f..%2fetc%2fpasswd",
				strings.ToUpper(good) + "_",
			}
			for k, code := range other {
				if k != kind {
					codes = append(codes, code)
				}
			}
			for _, code := range codes {
				if code == "" {
					continue // the page
				}
				what := code[:min(len(code), 30)]
				c.want(what, c.get("/"+code), 404)
				c.want(what, c.get("/api/links/"+code+"/visits"), 404)
				c.want(what, c.remove("/api/links/"+code), 404)
			}
			if c.rows() != 1 || c.visitsOf(good) != 1 {
				t.Errorf("%d links with %d visits are left", c.rows(), c.visitsOf(good))
			}
		})
	}
}

func TestNoRedirectLeadsBackToTheService(t *testing.T) {
	c := onSQLite(t, "id")
	port := c.base.Port()
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.9.9.9"} {
		for _, scheme := range []string{"http", "https"} {
			a := c.want(host, c.post(scheme+"://"+host+":"+port+"/x"), 400)
			if !strings.Contains(a.Error, "leads to this service") {
				t.Errorf("%s: %s", host, a.body)
			}
		}
	}
	c.want("another port", c.post("http://localhost:1/"), 201)

	made := c.want("a name that may become ours", c.post("http://s.example/"), 201)
	c.want("as long as it is not", c.get("/"+made.Code), 302)
	c.base = mustParse(t, "https://S.Example")
	c.want("now it is", c.get("/"+made.Code), 508)
	c.want("now it is", c.post("https://s.example:443/y"), 400)
}

func TestEveryAnswerHasTheHeadersThatAScanAsksFor(t *testing.T) {
	c := onSQLite(t, "id")
	made := c.want("new", c.post("https://example.com/"), 201)
	for _, a := range []answer{
		c.get("/"), c.get("/admin/"), c.get("/static/style.css"), c.get("/static/page.js"), c.get("/api/links"),
		c.get("/" + made.Code), c.get("/nothing"), c.get("/no/thing"), c.post("nothing"),
		c.send("PUT", "/api/links", nil), c.send("DELETE", "/", nil, "Sec-Fetch-Site", "cross-site"),
	} {
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; ", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := a.header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s is %q after %.40s, want %q", name, got, a.body, want)
			}
		}
		policy := a.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || a.header.Get("Server") != "" {
			t.Errorf("headers %v", a.header)
		}
	}
	c.base = mustParse(t, "https://s.example")
	if a := c.get("/"); a.header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security on https")
	}
}

// The policy forbids scripts and styles in the pages.
func TestThePagesNeedNothingThatThePolicyForbids(t *testing.T) {
	inline := regexp.MustCompile(`<style|<script[^>]*>[^<]|\sstyle=|\son[a-z]+=|https?://[^e]`)
	pages, err := fs.Glob(static, "static/*.html")
	if err != nil || len(pages) != 2 {
		t.Fatal(pages, err)
	}
	c := onSQLite(t, "id")
	for _, name := range pages {
		text, err := static.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.FindString(string(text)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		for _, link := range regexp.MustCompile(`(?:src|href)="(/[^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if a := c.get(link[1]); a.status != http.StatusOK {
				t.Errorf("%s has a link to %s: %d", name, link[1], a.status)
			}
		}
	}
}

func TestTheOperatorSeesWhatIsInAnID(t *testing.T) {
	c := onSQLite(t, "opaque")
	const id = snowflake.ID(175928847303311367)
	for _, text := range []string{id.String(), id.Base62()} {
		a := c.want(text, c.get("/api/admin/ids/"+text), 200)
		for _, want := range []string{
			`"id":"175928847303311367"`, `"base62":"` + id.Base62() + `"`, `"invalid":""`, `"time":"2026-05-01T11:18:25.797Z"`,
			`{"bits":10,"name":"worker","value":"32"}`, `{"bits":12,"name":"sequence","value":"7"}`,
			`"bits":"0000001001110001000001100101101011000001010000100000000000000111"`,
		} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%s is not in %s", want, a.body)
			}
		}
	}
	for _, text := range []string{"0", "-1", "9223372036854775807", "LygHa16AHYF"} {
		if a := c.want(text, c.get("/api/admin/ids/"+text), 200); strings.Contains(a.body, `"invalid":""`) {
			t.Errorf("%s: %s", text, a.body)
		}
	}
	a := c.want("status", c.get("/api/admin/status"), 200)
	if big := regexp.MustCompile(`[^"\d]\d{16,}[,}]`).FindString(a.body); big != "" { // 2^53 has 16 digits
		t.Errorf("a browser may round %s in %s", big, a.body)
	}
	for _, want := range []string{`"Namespace":"default"`, `"Held":true`, `"Issued":`, `"Until":"20`, `"layout":"epoch=2025`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
}
