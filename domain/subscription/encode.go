package subscription

import (
	"bytes"
	"slices"

	"svc/domain"
)

// recordRoom is about how many bytes the record of a delivery takes that succeeded at once. Few take less than leastRoom.
const (
	recordRoom = 560
	leastRoom  = 350
)

// AppendJSON implements domain.SelfEncoder: there is a record for every attempt.
func (e Attempted) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(slices.Grow(to, len(e.Records)*recordRoom))
	if e.Records == nil {
		o.Encoded("records", []byte("null"))
		return o.End()
	}
	o.Each("records", len(e.Records), func(i int) { e.Records[i].encode(&o) })
	return o.End()
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *Attempted) DecodeJSON(body []byte) bool {
	list, opened := bytes.CutPrefix(body, []byte(`{"records":`))
	list, closed := bytes.CutSuffix(list, []byte("}"))
	if !opened || !closed || e.Records != nil {
		return false
	}
	records, before := make([]Record, 0, 1+len(list)/leastRoom), &Delivery{}
	err := domain.VisitElements(list, func(element []byte) error {
		records = append(records, Record{})
		last := &records[len(records)-1]
		err := last.decode(element, before)
		before = &last.Delivery
		return err
	})
	e.Records = records
	return err == nil
}

func (r *Record) encode(o *domain.ObjectEncoder) {
	o.Open("delivery")
	r.Delivery.Encode(o)
	o.Close()
	if r.Health != nil {
		o.Open("health")
		r.Health.encode(o)
		o.Close()
	}
	o.IfTrue("asked", r.Asked)
}

// decode decodes a record. Texts that are the same in the record before are shared with it.
func (r *Record) decode(body []byte, before *Delivery) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "delivery":
			return domain.VisitMembers(value, func(key, value []byte) error { return r.Delivery.decodeMember(key, value, before) })
		case "health":
			if r.Health != nil {
				return domain.ErrUnknownMember
			}
			r.Health = &Health{}
			return domain.VisitMembers(value, r.Health.decodeMember)
		case "asked":
			return domain.DecodeBool(&r.Asked, value)
		}
		return domain.ErrUnknownMember
	})
}

// Encode adds the members of a delivery.
func (d *Delivery) Encode(o *domain.ObjectEncoder) {
	o.Text("id", d.ID)
	o.Text("subscriptionId", d.SubscriptionID)
	o.Text("eventId", d.EventID)
	o.Text("eventType", d.EventType)
	o.Text("seq", d.Seq.Token())
	o.Text("status", string(d.Status))
	if len(d.Attempts) > 0 {
		o.Each("attempts", len(d.Attempts), func(i int) { d.Attempts[i].encode(o) })
	}
	o.IntIfAny("forgotten", int64(d.Forgotten))
	o.TimeIfAny("nextAttemptAt", d.NextAttemptAt)
	o.Time("createdAt", d.CreatedAt)
	o.TextIfAny("place", d.SortKey)
	o.TextIfAny("replay", d.Replay)
	o.TextIfAny("lane", d.Lane)
	o.IntIfAny("round", int64(d.Round))
}

func (d *Delivery) decodeMember(key, value []byte, before *Delivery) error {
	switch string(key) {
	case "id":
		return domain.DecodeText(&d.ID, value)
	case "subscriptionId":
		return domain.DecodeRepeated(&d.SubscriptionID, value, before.SubscriptionID)
	case "eventId":
		return domain.DecodeText(&d.EventID, value)
	case "eventType":
		return domain.DecodeRepeated(&d.EventType, value, before.EventType)
	case "seq":
		return d.Seq.UnmarshalText(domain.Unquoted(value))
	case "status":
		return domain.DecodeRepeated((*string)(&d.Status), value, string(before.Status))
	case "attempts":
		if d.Attempts != nil {
			return domain.ErrUnknownMember
		}
		d.Attempts = []Attempt{}
		return domain.VisitElements(value, func(element []byte) error {
			d.Attempts = append(d.Attempts, Attempt{})
			return domain.VisitMembers(element, d.Attempts[len(d.Attempts)-1].decodeMember)
		})
	case "forgotten":
		return domain.DecodeInt(&d.Forgotten, value)
	case "nextAttemptAt":
		return d.NextAttemptAt.UnmarshalJSON(value)
	case "createdAt":
		return d.CreatedAt.UnmarshalJSON(value)
	case "place":
		return domain.DecodeText(&d.SortKey, value)
	case "replay":
		return domain.DecodeText(&d.Replay, value)
	case "lane":
		return domain.DecodeText(&d.Lane, value)
	case "round":
		return domain.DecodeInt(&d.Round, value)
	}
	return domain.ErrUnknownMember
}

func (a *Attempt) encode(o *domain.ObjectEncoder) {
	o.Time("at", a.At)
	o.IntIfAny("status", int64(a.Status))
	o.Int("duration", a.Duration)
	o.TextIfAny("error", a.Error)
	o.TextIfAny("responseBody", a.ResponseBody)
}

func (a *Attempt) decodeMember(key, value []byte) error {
	switch string(key) {
	case "at":
		return a.At.UnmarshalJSON(value)
	case "status":
		return domain.DecodeInt(&a.Status, value)
	case "duration":
		return domain.DecodeInt(&a.Duration, value)
	case "error":
		return domain.DecodeText(&a.Error, value)
	case "responseBody":
		return domain.DecodeText(&a.ResponseBody, value)
	}
	return domain.ErrUnknownMember
}

func (h *Health) encode(o *domain.ObjectEncoder) {
	o.IntIfAny("failures", int64(h.Failures))
	o.TimeIfAny("failingSince", h.FailingSince)
	o.TimeIfAny("lastDeliveryAt", h.LastDeliveryAt)
}

func (h *Health) decodeMember(key, value []byte) error {
	switch string(key) {
	case "failures":
		return domain.DecodeInt(&h.Failures, value)
	case "failingSince":
		return h.FailingSince.UnmarshalJSON(value)
	case "lastDeliveryAt":
		return h.LastDeliveryAt.UnmarshalJSON(value)
	}
	return domain.ErrUnknownMember
}
