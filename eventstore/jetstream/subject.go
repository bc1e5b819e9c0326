package jetstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"svc/domain"
)

// Subjects:
//
//	svc.state.{workspace}.{aggregate}.{id}.{type…}
//	svc.activity.{workspace}.{type…}
//	svc.payloads.{workspace}.{eventId}
//	svc.data.{workspace}.{kind}.{id}
//	svc.rates.{key}.{window}
//	svc.limits.{hour in which the window ends}.{key}.{window}
//
// Every token is encoded by token; the envelope carries the truth.
const (
	stateRoot    = "svc.state."
	activityRoot = "svc.activity."
	payloadsRoot = "svc.payloads."
	dataRoot     = "svc.data."
	ratesRoot    = "svc.rates."
	limitsRoot   = "svc.limits."
)

// Bounds of what one text becomes, so that no user text makes a subject that
// the broker refuses.
const (
	maxToken = 256
	maxType  = 4 * maxToken // of all tokens of an event type
)

// subjectOf returns the subject of an event of this type on this stream.
func subjectOf(log domain.Log, id domain.StreamID, eventType string) string {
	if log == domain.Activity {
		return activityRoot + token(id.Scope) + "." + typeTokens(eventType)
	}
	return aggregateRoot(id) + typeTokens(eventType)
}

// rootOf returns the prefix shared by the subjects of a log.
func rootOf(log domain.Log) string {
	if log == domain.Activity {
		return activityRoot
	}
	return stateRoot
}

// aggregateRoot returns the prefix shared by the subjects of one aggregate.
func aggregateRoot(id domain.StreamID) string {
	return stateRoot + token(id.Scope) + "." + token(id.Kind) + "." + token(id.ID) + "."
}

// aggregateFilter matches every event of one aggregate.
func aggregateFilter(id domain.StreamID) string { return aggregateRoot(id) + ">" }

// typeTokens encodes an event type, token by token. A type with too many of
// them is cut: nothing is found by its type alone.
func typeTokens(eventType string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(eventType, ".") {
		encoded := token(part)
		if b.Len()+len(encoded) >= maxType {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(encoded)
	}
	return b.String()
}

// token percent-encodes every byte outside [A-Za-z0-9_-]. An empty token
// becomes "%", and one that would be too long its beginning, "%%" and a hash,
// so that different texts have different tokens.
func token(s string) string {
	if s == "" {
		return "%"
	}
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() <= maxToken; i++ {
		if isPlain(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	if b.Len() <= maxToken {
		return b.String()
	}
	sum := sha256.Sum256([]byte(s))
	digest := "%%" + hex.EncodeToString(sum[:16])
	return b.String()[:maxToken-len(digest)] + digest
}

func plain(s string) bool {
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return len(s) <= maxToken
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
