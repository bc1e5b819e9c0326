package oidc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Provider is an identity provider of AUTH_PROVIDERS_CONFIG.
type Provider struct {
	Slug    string
	Name    string // on its button; empty: the slug
	Icon    string
	Domains []string // of mail addresses whose owners go there; lower case

	// Claims that tell of a person, by what they tell.
	FirstNameClaim, LastNameClaim, EmailClaim string

	ClientID     string
	ClientSecret string
	Issuer       string // discovered, unless the endpoints are given
	AuthURL      string
	TokenURL     string
	JWKSURL      string
	Scopes       []string
	Exchange     bool // its tokens are taken at POST /v2/login/token-exchange
}

func (p Provider) name() string { return cmp.Or(p.Name, p.Slug) }

// reservedSlugs are the platform's own kinds of identities.
var reservedSlugs = []string{"svc", "anonymous", "apiKey"}

var slugPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// providerEntry is a provider as the setting has it.
type providerEntry struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Icon    string   `json:"icon"`
	Domains []string `json:"domains"`
	Mapping struct {
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
		Email     string `json:"email"`
	} `json:"attributesMapping"`
	Config struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
		AuthURL      string `json:"authorization_endpoint"`
		TokenURL     string `json:"token_endpoint"`
		JWKSURL      string `json:"jwks_uri"`
		Scopes       string `json:"scopes"`
		Exchange     bool   `json:"allowTokenExchange"`
	} `json:"config"`
}

// ParseProviders reads AUTH_PROVIDERS_CONFIG, in the order of the slugs. Every
// fault is reported at once, and none of them repeats a value: it may be a secret.
func ParseProviders(text []byte) ([]Provider, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var file struct {
		Providers map[string]json.RawMessage `json:"providers"`
	}
	if err := decodeClosed(text, &file); err != nil {
		return nil, fmt.Errorf("AUTH_PROVIDERS_CONFIG: must be an object with providers: %w", err)
	}
	var all []Provider
	var errs []error
	owners := map[string]string{}
	for _, slug := range slices.Sorted(maps.Keys(file.Providers)) {
		p, faults := parseProvider(slug, file.Providers[slug])
		for _, domain := range p.Domains {
			if other, taken := owners[domain]; taken {
				faults = append(faults, "domains: "+domain+" is also of "+other)
			}
			owners[domain] = slug
		}
		for _, f := range faults {
			errs = append(errs, fmt.Errorf("AUTH_PROVIDERS_CONFIG: providers.%s.%s", slug, f))
		}
		all = append(all, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// decodeClosed reads one JSON value without unknown fields. Its errors name
// fields, never values.
func decodeClosed(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has the wrong type", cmp.Or(wrong.Field, "it"))
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: unknown field ") {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if err != nil || d.More() {
		return errors.New("it is not JSON")
	}
	return nil
}

func parseProvider(slug string, text []byte) (p Provider, faults []string) {
	fault := func(field, message string) { faults = append(faults, field+": "+message) }
	var e providerEntry
	if err := decodeClosed(text, &e); err != nil {
		return p, []string{"entry: " + err.Error()}
	}
	if !slugPattern.MatchString(slug) || slices.Contains(reservedSlugs, slug) {
		fault("slug", "must be letters, digits, - and _, and none of "+strings.Join(reservedSlugs, ", "))
	}
	if e.Type != "oidc" {
		fault("type", "must be oidc")
	}
	c := e.Config
	if c.ClientID == "" {
		fault("config.client_id", "is required")
	}
	for _, f := range []struct{ name, value string }{
		{"issuer", c.Issuer}, {"authorization_endpoint", c.AuthURL}, {"token_endpoint", c.TokenURL}, {"jwks_uri", c.JWKSURL},
	} {
		if u, err := url.Parse(f.value); f.value != "" && (err != nil || !isWeb(u) || u.Host == "" || u.User != nil || u.Fragment != "") {
			fault("config."+f.name, "must be an absolute http or https URL")
		}
	}
	given := len(slices.DeleteFunc([]string{c.AuthURL, c.TokenURL, c.JWKSURL}, func(s string) bool { return s == "" }))
	if given != 3 && (given != 0 || c.Issuer == "") {
		fault("config", "needs the issuer, or authorization_endpoint, token_endpoint and jwks_uri together")
	}
	domains, ok := readDomains(e.Domains)
	if !ok {
		fault("domains", "must be domains such as example.com, each once")
	}
	scopes := strings.Fields(cmp.Or(c.Scopes, "openid email"))
	if !slices.Contains(scopes, "openid") {
		fault("config.scopes", "must hold openid")
	}
	return Provider{
		Slug: slug, Name: e.Name, Icon: e.Icon, Domains: domains,
		FirstNameClaim: cmp.Or(e.Mapping.FirstName, "given_name"), LastNameClaim: cmp.Or(e.Mapping.LastName, "family_name"),
		EmailClaim: cmp.Or(e.Mapping.Email, "email"),
		ClientID:   c.ClientID, ClientSecret: c.ClientSecret, Issuer: c.Issuer,
		AuthURL: c.AuthURL, TokenURL: c.TokenURL, JWKSURL: c.JWKSURL, Scopes: scopes, Exchange: c.Exchange,
	}, faults
}

var domainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

func readDomains(list []string) (domains []string, ok bool) {
	for _, text := range list {
		domain := strings.ToLower(strings.TrimSpace(text))
		if !domainPattern.MatchString(domain) || slices.Contains(domains, domain) {
			return domains, false
		}
		domains = append(domains, domain)
	}
	return domains, true
}
