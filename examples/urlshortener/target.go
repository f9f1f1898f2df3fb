package main

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const maxURL = 4096 // bytes

var unprintable = regexp.MustCompile(`[^!-~]`) // in ASCII; also the space

// parseTarget reads the URL of a new link, and returns it and its host. The text is as it was given, with the scheme and
// the host in lower case, "/" for an empty path, and printable ASCII only, which every column and header can hold.
func parseTarget(given string) (text, host string, err error) {
	given = strings.TrimSpace(given)
	text = unprintable.ReplaceAllStringFunc(given, url.PathEscape)
	u, err := url.Parse(text)
	switch {
	case given == "":
		return "", "", badRequest("there is no URL to shorten")
	case err != nil, strings.ContainsFunc(given, unicode.IsControl):
		return "", "", badRequest("this is not a URL: %.200q", given)
	case u.Scheme != "https" && u.Scheme != "http":
		return "", "", badRequest("only URLs that begin with https:// or http:// are shortened, not %.200q", given)
	case !isHost(u):
		return "", "", badRequest("the URL has no valid host: %.200q", given)
	case u.User != nil:
		return "", "", badRequest("the URL contains a user name, which hides where it leads to")
	}
	_, rest, _ := strings.Cut(text, "://") // and not u.String, which may decode a %2F
	rest = rest[len(u.Host):]
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	if text = u.Scheme + "://" + strings.ToLower(u.Host) + rest; len(text) > maxURL {
		return "", "", badRequest("the URL has %d bytes, the limit is %d", len(text), maxURL)
	}
	return text, u.Host, nil
}

// isHost reports whether the URL has a host in ASCII, and a port that exists if any. A name that ends in a number must be
// an IP address in the usual form, since browsers read 127.1 and 0x7f000001 as 127.0.0.1.
func isHost(u *url.URL) bool {
	name := strings.TrimSuffix(u.Hostname(), ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, notIP := netip.ParseAddr(name)
	_, noPort := strconv.ParseUint("0"+u.Port(), 10, 16)
	return last != "" && !unprintable.MatchString(name) && !strings.Contains(name, "%") &&
		(notIP == nil || last[0] < '0' || last[0] > '9') && noPort == nil
}

// leadsHere reports whether a host is that of the short links, or that of the request. A link to itself would be a loop.
func (s *service) leadsHere(host string, r *http.Request) bool {
	host = canonical(host)
	return host == canonical(s.base.Host) || host == canonical(r.Host)
}

// canonical returns one text for the names of one host and port, as far as the names tell.
func canonical(host string) string {
	u := url.URL{Host: strings.ToLower(host)}
	name, port := strings.TrimSuffix(u.Hostname(), "."), u.Port()
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip = ip.Unmap(); ip.IsLoopback() || ip.IsUnspecified() {
			name = "localhost"
		} else {
			name = ip.String()
		}
	}
	if strings.HasSuffix(name, ".localhost") {
		name = "localhost"
	}
	if port == "80" || port == "443" { // the request does not tell the scheme
		port = ""
	}
	return name + ":" + port
}
