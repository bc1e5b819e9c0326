package subscription

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/feed"
)

// Status is how far a delivery is.
type Status string

// The statuses. The last two are ends; so is Failed for a delivery without a next
// attempt.
const (
	Pending   Status = "pending" // it waits for an attempt
	Failed    Status = "failed"  // the last attempt failed
	Succeeded Status = "succeeded"
	Dead      Status = "dead" // all attempts failed; it can be asked for again
)

// Attempt is one try to deliver an event.
type Attempt struct {
	At           time.Time `json:"at"`
	Status       int       `json:"status,omitempty"` // of the answer; 0: there was none
	Duration     int64     `json:"duration"`         // milliseconds
	Error        string    `json:"error,omitempty"`
	ResponseBody string    `json:"responseBody,omitempty"` // its beginning
}

// OK reports whether the receiver has taken the event.
func (a Attempt) OK() bool { return a.Error == "" && a.Status >= 200 && a.Status < 300 }

// Delivery is an event on its way to a receiver, with everything that happened so
// far: the last record of a delivery says all that there is to know.
type Delivery struct {
	ID             string          `json:"id"`
	SubscriptionID string          `json:"subscriptionId"`
	EventID        string          `json:"eventId"`
	EventType      string          `json:"eventType"`
	Seq            domain.Position `json:"seq"`
	Status         Status          `json:"status"`
	Attempts       []Attempt       `json:"attempts,omitempty"`  // the last ones
	Forgotten      int             `json:"forgotten,omitempty"` // attempts before those
	NextAttemptAt  time.Time       `json:"nextAttemptAt,omitzero"`
	CreatedAt      time.Time       `json:"createdAt"`
	SortKey        string          `json:"place,omitempty"`  // sorts deliveries in the order of their events
	Replay         string          `json:"replay,omitempty"` // the operation that replays the event
	Lane           string          `json:"lane,omitempty"`   // deliveries of one lane go one after another; "": it has none
	Round          int             `json:"round,omitempty"`  // attempts before it was asked for again
}

// Open reports whether there is an attempt to come.
func (d Delivery) Open() bool {
	return d.Status == Pending || d.Status == Failed && !d.NextAttemptAt.IsZero()
}

// Tried returns d after one more attempt. schedule says how long to wait after each
// failure; when it is over the delivery is dead.
func (d Delivery) Tried(a Attempt, schedule []time.Duration) Delivery {
	d.Attempts = append(d.Attempts[:len(d.Attempts):len(d.Attempts)], a)
	failures := d.tries() - d.Round
	d.NextAttemptAt = time.Time{}
	switch {
	case a.OK():
		d.Status = Succeeded
	case failures > len(schedule):
		d.Status = Dead
	default:
		d.Status = Failed
		d.NextAttemptAt = a.At.Add(time.Duration(a.Duration)*time.Millisecond + schedule[failures-1])
	}
	if extra := len(d.Attempts) - keptAttempts; extra > 0 {
		d.Attempts, d.Forgotten = d.Attempts[extra:], d.Forgotten+extra
	}
	return d
}

// keptAttempts is how many attempts a delivery remembers. Somebody may ask for it as
// often as they like, and its record must still fit into an event.
const keptAttempts = 20

// tries is how many attempts were made.
func (d Delivery) tries() int { return d.Forgotten + len(d.Attempts) }

// Again returns d asked for once more: at once, and out of order, for those that
// came after it have been delivered since.
func (d Delivery) Again(now time.Time) Delivery {
	d.Status, d.NextAttemptAt, d.Round, d.Lane = Pending, now, d.tries(), ""
	return d
}

// MaxRecords is the number of records in one event.
const MaxRecords = 100

// Weight is about how many bytes a record takes in an event, and never fewer.
func (r Record) Weight() int {
	n := 1000
	for _, a := range r.Delivery.Attempts {
		n += 150 + encoded(a.Error) + encoded(a.ResponseBody)
	}
	return n
}

// encoded is how many bytes a text takes as JSON, which may be six for one: receivers
// choose what they answer.
func encoded(text string) int {
	n := len(text)
	for _, c := range text {
		switch {
		case c == '"', c == '\\':
			n++
		case c < ' ', c == '<', c == '>', c == '&', c == '\u2028', c == '\u2029':
			n += 5
		}
	}
	return n
}

// DeliveryID returns the id of the delivery of an event to a subscription, in the
// course of a replay or of no one's: who looks at the event again finds it.
func DeliveryID(subscriptionID, eventID, replay string) string {
	return digest("dlv_", 24, subscriptionID, eventID, replay)
}

// Lane returns the name of the lane of those events of a subscription, or of one
// replay to it, that have a value at its order key.
func Lane(subscriptionID, replay, value string) string {
	return digest("", 16, subscriptionID, replay, value)
}

// SortKey returns a text that sorts before that of every later event of the workspace.
func SortKey(e *feed.Event) string {
	facts := int64(0)
	if e.Log == domain.Activity {
		facts = 1 // of the same instant the fact is the earlier one
	}
	key := appendHex(make([]byte, 0, 33), uint64(e.At.UnixNano()))
	return string(appendHex(strconv.AppendInt(key, facts, 10), e.Number()))
}

func appendHex(to []byte, n uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return hex.AppendEncode(to, b[:])
}

// digest returns a text of so many digits that follows from the parts, after a prefix.
func digest(prefix string, size int, parts ...string) string {
	text := make([]byte, 0, 128)
	for _, part := range parts {
		text = append(append(text, part...), 0)
	}
	sum := sha256.Sum256(text[:len(text)-1])
	encoded := digits.AppendEncode(append(make([]byte, 0, 64), prefix...), sum[:])
	return string(encoded[:len(prefix)+size])
}

// digits is base 32 in small letters.
var digits = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Health is how a receiver does, after some attempt.
type Health struct {
	Failures       int       `json:"failures,omitempty"` // in a row
	FailingSince   time.Time `json:"failingSince,omitzero"`
	LastDeliveryAt time.Time `json:"lastDeliveryAt,omitzero"` // that succeeded
}

// breakAfter is how many failures in a row open the breaker.
const breakAfter = 10

// Broken reports whether the breaker is open.
func (h Health) Broken() bool { return h.Failures >= breakAfter }

// After returns the health after one more attempt.
func (h Health) After(a Attempt) Health {
	if a.OK() {
		return Health{LastDeliveryAt: a.At}
	}
	h.Failures++
	if h.FailingSince.IsZero() {
		h.FailingSince = a.At
	}
	return h
}

type (
	// Attempted says where deliveries of a workspace stand, after attempts or because
	// they wait for one. It is how the platform remembers deliveries, and is shown to
	// nobody. Many that end at about the same time are told together: each by itself
	// would cost as much as the event that it delivers.
	Attempted struct {
		Records []Record `json:"records"`
	}
	// Record is where one delivery stands.
	Record struct {
		Delivery Delivery `json:"delivery"`
		Health   *Health  `json:"health,omitempty"` // of the receiver; nil: it was not tried, or a later record of the event has it
		Asked    bool     `json:"asked,omitempty"`  // somebody asked for it: by a redelivery or a replay
	}
	// Tested is the event that a test delivers.
	Tested struct {
		SubscriptionID string `json:"subscriptionId"`
	}
)

// EventType implements domain.Event.
func (Attempted) EventType() string { return "webhooks.deliveries.attempted" }

// EventType implements domain.Event.
func (Tested) EventType() string { return "webhooks.test" }

// Span is a part of the past that is to be delivered again. What is not set does not
// bound it.
type Span struct {
	From   domain.Position `json:"fromSeq,omitzero"` // after it
	To     domain.Position `json:"toSeq,omitzero"`   // up to it
	After  time.Time       `json:"afterDate,omitzero"`
	Before time.Time       `json:"beforeDate,omitzero"`
}
