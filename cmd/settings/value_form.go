package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone must not depend on the host

	"svc/domain/automation/cron"
)

// regexpOf is a regular expression, matched from end to end when whole is set.
func regexpOf(p **regexp.Regexp, whole bool) value {
	return bind(p, "regexp", "a regular expression (RE2)", func(text string) (*regexp.Regexp, error) {
		if _, err := regexp.Compile(text); err != nil {
			return nil, errBad
		}
		if whole {
			text = `^(?:` + text + `)$`
		}
		return regexp.Compile(text)
	})
}

// cronOf is a schedule of five fields, without seconds and without @words.
func cronOf(p *string) value {
	return bind(p, "cron", "a cron schedule of five fields: minute, hour, day, month, weekday", func(text string) (string, error) {
		fields := strings.Fields(text)
		if len(fields) != 5 || strings.ContainsAny(text, "@=") {
			return "", errBad
		}
		if _, err := cron.Parse(text); err != nil {
			return "", errBad
		}
		return strings.Join(fields, " "), nil
	})
}

func zone(p **time.Location) value {
	return bind(p, "zone", "a time zone such as UTC or Europe/Paris", func(text string) (*time.Location, error) {
		location, err := time.LoadLocation(text)
		if err != nil || text == "Local" {
			return nil, errBad
		}
		return location, nil
	})
}

// absolute reports whether text is a URL with one of the schemes and a host.
func absolute(text string, schemes []string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != ""
}

// urlOf is an absolute URL.
func urlOf[T ~string](p *T, schemes ...string) value {
	expect := "an absolute URL (" + strings.Join(schemes, ", ") + ")"
	v := bind(p, "url", expect, func(text string) (T, error) {
		if !absolute(text, schemes) {
			return "", errBad
		}
		return T(text), nil
	})
	v.canon, v.show = func() string { return string(*p) }, redactURLs
	return v
}

// apiURL is the address of the API; /v2 ends it, so that cutting it off gives
// the issuer.
func apiURL(p *string) value {
	return bind(p, "url", "an absolute URL (http, https) that ends in /v2", func(text string) (string, error) {
		text = strings.TrimSuffix(text, "/")
		u, err := url.Parse(text)
		if err != nil || !absolute(text, web) || !strings.HasSuffix(u.Path, "/v2") || u.User != nil || u.RawQuery != "" {
			return "", errBad
		}
		return text, nil
	})
}

// urls is a list of absolute URLs; slash makes each end in one.
func urls[T ~string](p *[]T, slash bool, schemes ...string) value {
	expect := "a comma-separated list of absolute URLs (" + strings.Join(schemes, ", ") + ")"
	v := bind(p, "list", expect, func(text string) ([]T, error) {
		var list []T
		for _, item := range splitList(text) {
			if !absolute(item, schemes) {
				return nil, errBad
			}
			if slash && !strings.HasSuffix(item, "/") {
				item += "/"
			}
			list = append(list, T(item))
		}
		return list, nil
	})
	v.show = redactURLs
	v.canon = func() string {
		var list []string
		for _, u := range *p {
			list = append(list, string(u))
		}
		return strings.Join(list, ",")
	}
	return v
}

// isOrigin reports whether text is scheme, host and port, and nothing else.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && absolute(text, web) && text == u.Scheme+"://"+u.Host
}

func prefixes(p *[]netip.Prefix) value {
	return bind(p, "list", "a comma-separated list of addresses or CIDR ranges", func(text string) ([]netip.Prefix, error) {
		var list []netip.Prefix
		for _, item := range splitList(text) {
			prefix, err := parsePrefix(item)
			if err != nil {
				return nil, errBad
			}
			list = append(list, prefix)
		}
		return list, nil
	})
}

// parsePrefix takes a plain address for the range of that address alone.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

var hostPattern = regexp.MustCompile(`^(\*\.|\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?(:[0-9]{1,5})?$`)

// isHost reports whether text is a host name, perhaps with a leading dot or *.
// and a port, or an address.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return true
	}
	return hostPattern.MatchString(text)
}

func isHostOrPrefix(text string) bool {
	_, err := parsePrefix(text)
	return err == nil || isHost(text)
}

func host(p *string) value {
	return bind(p, "host", "a host name or an address", check(isHost))
}

// listenHost is a host to listen on; empty: all interfaces.
func listenHost(p *string) value {
	return bind(p, "host", "a host name or an address; empty: all interfaces", check(func(text string) bool { return text == "" || isHost(text) }))
}

// hostPort is an address to listen on; the host may be empty.
func hostPort(p *string) value {
	return bind(p, "host:port", "host:port", check(func(text string) bool {
		h, port, err := net.SplitHostPort(text)
		n, portErr := strconv.Atoi(port)
		return err == nil && portErr == nil && n >= 0 && n <= 65535 && (h == "" || isHost(h))
	}))
}

// loopback is an address to listen on that only this machine reaches.
func loopback(p *string) value {
	return bind(p, "host:port", "host:port of this machine, such as 127.0.0.1:6060", check(func(text string) bool {
		h, port, err := net.SplitHostPort(text)
		n, portErr := strconv.Atoi(port)
		addr, addrErr := netip.ParseAddr(h)
		return err == nil && portErr == nil && n >= 0 && n <= 65535 && (h == "localhost" || addrErr == nil && addr.IsLoopback())
	}))
}

func mailAddress(p *string) value {
	return bind(p, "text", "a mail address, perhaps with a name: Svc <svc@example.com>", check(isMail))
}

func isMail(text string) bool {
	_, err := mail.ParseAddress(text)
	return err == nil && oneLine(text)
}

var mimePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/([a-z0-9][a-z0-9!#$&^_.+-]*|\*)$`)

func mimetypes(p *[]string, none string) value {
	return listOf(p, "media types such as image/png or image/*; or "+none, mimePattern.MatchString, none)
}

func isPair(text string) bool {
	key, _, ok := strings.Cut(text, "=")
	return ok && strings.TrimSpace(key) != ""
}

// secretPairs is a list of name=value that is kept as it was given.
func secretPairs(p *Secret) value {
	return bind(p, "list", "a comma-separated list of name=value", func(text string) (Secret, error) {
		if slices.ContainsFunc(splitList(text), func(item string) bool { return !isPair(item) }) {
			return "", errBad
		}
		return Secret(text), nil
	})
}

// jsonDocument is a JSON object, already read from its file.
func jsonDocument(p *Secret) value {
	return bind(p, "path or JSON", "the path of a JSON file, or a JSON object", func(text string) (Secret, error) {
		var object map[string]any
		if decodeJSON(text, &object) != nil {
			return "", errBad
		}
		return Secret(text), nil
	})
}

// decodeJSON reads exactly one JSON value without unknown fields.
func decodeJSON(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
