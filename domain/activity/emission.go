package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation"
)

// The types of the platform that others may emit as well.
const (
	failure = "error"
	usage   = "usage"
)

// Bounds of what is emitted.
const (
	MaxEmissions = 100 // at once
	MaxTarget    = 256 // characters of whom an event is for
)

// Emission is an event under a name of its sender's choice, before it is recorded.
type Emission struct {
	Type    string
	Payload json.RawMessage // an object; nothing and null stand for an empty one
	Target  *domain.Target
	Options domain.EventOptions
	Actor   *domain.Actor // for whom acts what it starts; nil: for whom the source names
}

// Terms are what emissions are held to.
type Terms struct {
	Limit int // characters of the compact JSON of a payload
}

var eventType = regexp.MustCompile(automation.EventName)

// Settle returns a batch as it is recorded, its payloads compact. It refuses all of it
// when one event is not acceptable.
func (t Terms) Settle(batch []Emission) ([]Emission, error) {
	if len(batch) == 0 || len(batch) > MaxEmissions {
		return nil, domain.Invalid(domain.FieldError{Field: "events", Message: fmt.Sprintf("must be 1 to %d events", MaxEmissions)})
	}
	settled := make([]Emission, len(batch))
	var faults []domain.FieldError
	forged := false
	for i, e := range batch {
		e.Payload = compact(e.Payload)
		settled[i] = e
		for _, fault := range faultsOf(e) {
			fault.Field = fmt.Sprintf("events[%d].%s", i, fault.Field)
			faults = append(faults, fault)
		}
		forged = forged || automation.Native(e.Type)
	}
	if forged {
		return nil, domain.Invalid(faults...).Reason("native_type")
	}
	if len(faults) > 0 {
		return nil, domain.Invalid(faults...)
	}
	for _, e := range settled {
		if err := t.checkSize(e); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// compact returns a payload without blanks, and {} for none. What is no JSON stays as it
// is.
func compact(payload json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(payload); len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	var b bytes.Buffer
	if json.Compact(&b, payload) != nil {
		return payload
	}
	return b.Bytes()
}

// checkSize refuses a payload that is longer than events may be.
func (t Terms) checkSize(e Emission) error {
	size := utf8.RuneCount(e.Payload)
	if size <= t.Limit {
		return nil
	}
	return domain.Refuse(domain.CodeInvalidRequest, "the payload of %s has more than %d characters", e.Type, t.Limit).
		Reason("event_too_large").With("eventType", e.Type).With("length", size).With("limit", t.Limit)
}

// faultsOf lists what is wrong with an emission.
func faultsOf(e Emission) (all []domain.FieldError) {
	fault := func(field, message string) {
		all = append(all, domain.FieldError{Field: field, Message: message})
	}
	switch {
	case !eventType.MatchString(e.Type):
		fault("type", "must be 1 to 200 letters, digits, blanks, dots, - and _")
	case automation.Native(e.Type):
		fault("type", fmt.Sprintf("%q is an event of the platform itself", e.Type))
	}
	var payload map[string]any
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		fault("payload", "must be an object whose numbers are in range")
	} else if field, message := misshapen(e, payload); message != "" {
		fault(field, message)
	}
	for _, field := range Misdirected(e.Target) {
		fault("target."+field, fmt.Sprintf("must be one line of at most %d characters", MaxTarget))
	}
	return all
}

// Misdirected names the fields of a target that nobody can be called.
func Misdirected(target *domain.Target) (fields []string) {
	if target == nil {
		return nil
	}
	for _, of := range [...]struct{ field, value string }{
		{"userId", target.UserID}, {"sessionId", target.SessionID}, {"userTopic", target.UserTopic},
	} {
		if !domain.IsLine(of.value, MaxTarget) {
			fields = append(fields, of.field)
		}
	}
	return fields
}

// misshapen says what is wrong with the payload of a type that the platform reads
// itself: sums are made of usage, and a failure must open again as one.
func misshapen(e Emission, payload map[string]any) (field, message string) {
	switch {
	case e.Type == usage || strings.HasSuffix(e.Type, "."+usage):
		return misshapenUsage(payload)
	case e.Type != failure:
		return "", ""
	}
	for _, name := range []string{"error", "message"} {
		if _, ok := payload[name].(string); !ok {
			return "payload." + name, "must be a text"
		}
	}
	if json.Unmarshal(e.Payload, &Failure{}) != nil {
		return "payload", "must be {error, message, details}, details an object"
	}
	return "", ""
}

// misshapenUsage says what is wrong with {metrics {name: {value, action}}}.
func misshapenUsage(payload map[string]any) (field, message string) {
	metrics, ok := payload["metrics"].(map[string]any)
	if !ok {
		return "payload.metrics", "must be an object"
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		metric, _ := metrics[name].(map[string]any)
		if _, ok := metric["value"].(float64); !ok {
			return "payload.metrics", fmt.Sprintf("%.60q has no value that is a number", name)
		}
		if action := metric["action"]; action != "set" && action != "increment" {
			return "payload.metrics", fmt.Sprintf("%.60q has another action than set and increment", name)
		}
	}
	return "", ""
}
