package fetch

import (
	"net/url"
	"slices"
	"strings"

	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

// Shown returns the parameters of a fetch as they may be told: without what proves who
// sends it.
func Shown(params *value.Object) *value.Object {
	if params == nil {
		return nil
	}
	o := params.Copy()
	conceal(o, "url", withoutPassword)
	if headers, ok := o.At("headers").(*value.Object); ok {
		headers = headers.Copy()
		for _, name := range headers.Keys() {
			if slices.Contains(unshown, strings.ToLower(name)) {
				headers.Set(name, redact.Redacted)
			}
		}
		o.Set("headers", headers)
	}
	if auth, ok := o.At("auth").(*value.Object); ok {
		auth = auth.Copy()
		for kind, key := range map[string]string{"basic": "password", "awsv4": "secretAccessKey", "oauth2": "clientSecret"} {
			if terms, ok := auth.At(kind).(*value.Object); ok {
				terms = terms.Copy()
				conceal(terms, key, func(any) any { return redact.Redacted })
				conceal(terms, "tokenUrl", withoutPassword)
				auth.Set(kind, terms)
			}
		}
		o.Set("auth", auth)
	}
	return o
}

// conceal replaces a member, if there is one.
func conceal(o *value.Object, key string, by func(any) any) {
	if v, ok := o.Get(key); ok {
		o.Set(key, by(v))
	}
}

// withoutPassword is an address without the password in it.
func withoutPassword(address any) any {
	text, _ := address.(string)
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}
