// Package subscription holds the rules of outbound webhooks: where the events of a
// workspace are sent, which of them, and with what they are signed. Secrets are
// known here only sealed.
package subscription

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/feed"
)

// Decider is the rule of subscriptions.
var Decider = domain.Decider[State, Command]{Kind: "subscription", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of a subscription of a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Keys are what deliveries are signed with, sealed with the key of the workspace.
type Keys struct {
	Sealed []byte `json:"sealed"`
	Last4  string `json:"last4"`
	// Previous signs too, until its time is over.
	Previous      []byte    `json:"previous,omitempty"`
	PreviousUntil time.Time `json:"previousUntil,omitzero"`
}

// State is a subscription. The zero State is one that does not exist.
type State struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspaceId"`
	Terms
	Reason  string `json:"reason,omitempty"` // why the platform disabled it
	Keys    Keys   `json:"keys"`
	Deleted bool   `json:"deleted,omitempty"`
	Closed  int    `json:"closed,omitempty"` // how often its breaker was closed by hand
}

// Command is what can be asked of a subscription.
type Command interface{ subscriptionCommand() }

type (
	// Create makes a subscription. An id is used once: creating it again does
	// nothing.
	Create struct {
		ID, WorkspaceID string
		Terms           Terms
		Keys            Keys
	}
	// Change merges a patch into the terms. To say that it is not disabled closes its
	// breaker too, which is recorded even when nothing else changes.
	Change struct{ Patch Patch }
	// Rotate signs with another secret from now on, and with the one before until
	// Until as well.
	Rotate struct {
		Sealed []byte
		Last4  string
		Until  time.Time
	}
	// Disable stops a subscription whose receiver has failed for too long. Failures from before somebody enabled it
	// again do not count: Closed is that of the state in which it failed.
	Disable struct {
		Reason string
		Closed int
	}
	// Delete ends a subscription.
	Delete struct{}
)

func (Create) subscriptionCommand()  {}
func (Change) subscriptionCommand()  {}
func (Rotate) subscriptionCommand()  {}
func (Disable) subscriptionCommand() {}
func (Delete) subscriptionCommand()  {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	if c, ok := cmd.(Create); ok {
		return create(s, c)
	}
	if s.ID == "" || s.Deleted {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription")
	}
	switch c := cmd.(type) {
	case Change:
		return change(s, c.Patch)
	case Rotate:
		s.Keys = Keys{Sealed: c.Sealed, Last4: c.Last4, Previous: s.Keys.Sealed, PreviousUntil: c.Until}
		return []domain.Event{Updated{Subscription: s.summary(), Keys: s.Keys}}, nil
	case Disable:
		if s.Disabled || s.Closed != c.Closed {
			return nil, nil
		}
		s.Disabled, s.Reason = true, c.Reason
		return []domain.Event{Disabled{Subscription: s.summary(), Reason: c.Reason}}, nil
	case Delete:
		return []domain.Event{Deleted{Subscription: s.summary()}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "subscription: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	terms := c.Terms.withDefaults()
	if err := terms.Validate(); err != nil {
		return nil, err
	}
	made := State{ID: c.ID, WorkspaceID: c.WorkspaceID, Terms: terms, Keys: c.Keys}
	return []domain.Event{Created{Subscription: made.summary(), WorkspaceID: c.WorkspaceID, Keys: c.Keys}}, nil
}

func change(s State, p Patch) ([]domain.Event, error) {
	terms := p.On(s.Terms)
	closes := p.Disabled != nil && !*p.Disabled
	if domain.Same(s.Terms, terms) && !closes {
		return nil, nil
	}
	if err := terms.Validate(); err != nil {
		return nil, err
	}
	s.Terms = terms
	if p.Disabled != nil {
		s.Reason = ""
	}
	return []domain.Event{Updated{Subscription: s.summary(), Keys: s.Keys, Closes: closes}}, nil
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return e.Subscription.applyTo(State{WorkspaceID: e.WorkspaceID, Keys: e.Keys})
	case Updated:
		s.Keys = e.Keys
		if e.Closes {
			s.Closed++
		}
		return e.Subscription.applyTo(s)
	case Disabled:
		return e.Subscription.applyTo(s)
	case Deleted:
		s.Deleted = true
	}
	return s
}

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

// Terms are the settings of a subscription.
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

// SecretKey returns the key in a secret.
func SecretKey(secret string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
}

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

// Summary is what the catalogue shows of a subscription.
type Summary struct {
	ID string `json:"id"`
	Terms
	Reason      string `json:"disabledReason,omitempty"`
	SecretLast4 string `json:"secretLast4"`
}

func (s State) summary() Summary {
	return Summary{ID: s.ID, Terms: s.Terms, Reason: s.Reason, SecretLast4: s.Keys.Last4}
}

// applyTo returns a state with what is shown of it.
func (s Summary) applyTo(state State) State {
	state.ID, state.Terms, state.Reason = s.ID, s.Terms, s.Reason
	return state
}

type (
	// Created says that a subscription was made. It delivers what happens after it.
	Created struct {
		Subscription Summary `json:"subscription"`
		WorkspaceID  string  `json:"workspaceId"`
		Keys         Keys    `json:"keys"`
	}
	// Updated says that its terms or its secret changed, and what they are now.
	// Closes says that its breaker was closed by hand.
	Updated struct {
		Subscription Summary `json:"subscription"`
		Keys         Keys    `json:"keys"`
		Closes       bool    `json:"closes,omitempty"`
	}
	// Deleted says that nothing is delivered any more.
	Deleted struct {
		Subscription Summary `json:"subscription"`
	}
	// Disabled says that the platform stopped delivering, and why.
	Disabled struct {
		Subscription Summary `json:"subscription"`
		Reason       string  `json:"reason"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "workspaces.subscriptions.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.subscriptions.updated" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "workspaces.subscriptions.deleted" }

// EventType implements domain.Event.
func (Disabled) EventType() string { return "workspaces.subscriptions.disabled" }

// payload is what the catalogue shows of a change: not the sealed secrets, and of the
// address not what may be a secret of the receiver's, for more people read events than
// manage subscriptions.
type payload struct {
	Subscription Summary `json:"subscription"`
	Reason       string  `json:"reason,omitempty"`
}

func payloadOf(s Summary, reason string) payload {
	s.URL = PublicURL(s.URL)
	return payload{s, reason}
}

// PublicURL is an address without its query.
func PublicURL(address string) string {
	bare, _, _ := strings.Cut(address, "?")
	bare, _, _ = strings.Cut(bare, "#")
	return bare
}

// Payload implements domain.PayloadEvent.
func (e Created) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.PayloadEvent.
func (e Updated) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.PayloadEvent.
func (e Deleted) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.PayloadEvent.
func (e Disabled) Payload() any { return payloadOf(e.Subscription, e.Reason) }
