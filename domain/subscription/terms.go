package subscription

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/feed"
)

// Bounds of a subscription.
const (
	Most       = 100 // in one workspace
	maxURL     = 2048
	maxTypes   = 50
	maxFilters = 20
	maxText    = 500
)

// DefaultOrderKey is the value that events are ordered by unless somebody says
// otherwise: those of one cause go one after another.
const DefaultOrderKey = "source.correlationId"

// Terms are what whoever manages a subscription may choose.
type Terms struct {
	URL         string         `json:"url"`
	Types       []string       `json:"types"`
	Filters     map[string]any `json:"filters"`
	OrderKey    string         `json:"orderKey"`
	Description string         `json:"description"`
	Disabled    bool           `json:"disabled"`
}

// Patch is a change of terms: what is nil stays.
type Patch struct {
	URL         *string
	Types       *[]string
	Filters     *map[string]any
	OrderKey    *string
	Description *string
	Disabled    *bool
}

// On returns terms with the patch merged in.
func (p Patch) On(t Terms) Terms {
	set(&t.URL, p.URL)
	set(&t.Types, p.Types)
	set(&t.Filters, p.Filters)
	set(&t.OrderKey, p.OrderKey)
	set(&t.Description, p.Description)
	set(&t.Disabled, p.Disabled)
	return t.withDefaults()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (t Terms) withDefaults() Terms {
	if t.OrderKey == "" {
		t.OrderKey = DefaultOrderKey
	}
	if t.Filters == nil {
		t.Filters = map[string]any{}
	}
	return t
}

// Validate refuses terms that nothing could be delivered by, with every field at
// fault.
func (t Terms) Validate() error {
	var errs []domain.FieldError
	wrong := func(field, format string, args ...any) {
		errs = append(errs, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if why := wrongURL(t.URL); why != "" {
		wrong("url", "%s", why)
	}
	if len(t.Types) == 0 || len(t.Types) > maxTypes {
		wrong("types", "must be 1 to %d event types, exact or with *", maxTypes)
	}
	for i, pattern := range t.Types {
		if !feed.IsPattern(pattern) {
			wrong(fmt.Sprintf("types.%d", i), "must be 1 to 200 of the characters of event types and *")
		}
	}
	errs = append(errs, t.wrongFilters()...)
	if !feed.IsPath(t.OrderKey) || !domain.IsLine(t.OrderKey, maxURL) {
		wrong("orderKey", "must be a dotted path into events, such as %s", DefaultOrderKey)
	}
	if !isText(t.Description) {
		wrong("description", "must be %d characters at most, without control characters", maxText)
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// wrongFilters returns what is wrong with the filters.
func (t Terms) wrongFilters() (errs []domain.FieldError) {
	if len(t.Filters) > maxFilters {
		return []domain.FieldError{{Field: "filters", Message: fmt.Sprintf("must be %d at most", maxFilters)}}
	}
	if _, also := t.Filters["types"]; also {
		return []domain.FieldError{{Field: "filters.types", Message: "must be listed in types"}}
	}
	_, err := t.Filter()
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		faults, _ := refusal.Details["errors"].([]domain.FieldError)
		for _, fault := range faults {
			errs = append(errs, domain.FieldError{Field: "filters." + fault.Field, Message: fault.Message})
		}
	}
	return errs
}

// wrongURL returns why nothing can be posted to an address, or "".
func wrongURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "" || len(text) > maxURL || !domain.IsLine(text, maxURL) || err != nil:
		return "must be an address of 1 to 2048 characters"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an absolute http or https address"
	case u.User != nil:
		return "must not have credentials in it: deliveries are signed"
	case u.Port() != "" && !isPort(u.Port()):
		return "must have a port from 1 to 65535, or none"
	}
	return ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isText lets a description have several lines.
func isText(text string) bool {
	return domain.IsLine(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(text), maxText)
}

// secretPrefix is what secrets of the Standard Webhooks begin with.
const secretPrefix = "whsec_"

// Secret returns a key as receivers are given it.
func Secret(key []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(key) }

// CheckSecret refuses a secret that is not whsec_ and the base64 of 24 to 64 bytes.
// It does not repeat it.
func CheckSecret(secret string) error {
	text, marked := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	broken := strings.ContainsAny(text, "\r\n") // which the decoder passes over
	if !marked || broken || err != nil || len(key) < 24 || len(key) > 64 {
		return domain.Invalid(domain.FieldError{Field: "secret", Message: "must be whsec_ and the base64 of 24 to 64 bytes"})
	}
	return nil
}

// Filter returns which events are asked for.
func (t Terms) Filter() (*feed.Filter, error) {
	filter, err := feed.FilterOf(t.Filters)
	filter.Types = t.Types
	return &filter, err
}
