package client

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// ServiceURL returns the address of a service as a Client takes it. It may be
// given with the /v2 of the API or without.
func ServiceURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("the address of a service begins with http:// or https:// and names a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address of a service has no user, password, query or fragment")
	}
	path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v2")
	return u.Scheme + "://" + strings.ToLower(u.Host) + path, nil
}

// Exposed reports whether others can read what is sent to an address.
func Exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && !ip.IsLoopback()
}
