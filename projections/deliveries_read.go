package projections

import (
	"encoding/binary"
	"strings"
	"time"

	"svc/domain/subscription"
)

// DeliveryListed is what the list tells of a delivery without reading it.
type DeliveryListed struct {
	ID        string
	CreatedAt time.Time
	Status    subscription.Status
	EventType string
}

// listedAs is the value of a delivery in the list.
func listedAs(d DeliveryRecord) []byte { return []byte(string(d.Status) + "\x00" + d.EventType) }

// List visits the deliveries of a subscription that were begun before a time, the
// newest first, until visit returns false. The zero time is the end of all.
func (d Deliveries) List(r Reader, subscriptionID string, before time.Time, visit func(DeliveryListed) (more bool)) error {
	prefix := scoped('l', subscriptionID, nil)
	span := Span{Prefix: prefix, Reverse: true}
	if !before.IsZero() {
		span.From = append(append([]byte(nil), prefix...), seqKey(uint64(before.UnixMilli()))...)
	}
	return r.Iterate(d, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		status, eventType, _ := strings.Cut(string(value), "\x00")
		return visit(DeliveryListed{
			ID: string(rest[8:]), CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(rest))).UTC(),
			Status: subscription.Status(status), EventType: eventType,
		}), nil
	})
}

// Open visits the deliveries of a subscription that have an attempt to come, in the
// order of their events, until visit returns false.
func (d Deliveries) Open(r Reader, subscriptionID string, visit func(DeliveryRecord) (more bool)) error {
	return r.Iterate(d, Span{Prefix: scoped('p', subscriptionID, nil)}, func(_, value []byte) (bool, error) {
		rec, ok, err := d.Get(r, string(value))
		return err == nil && (!ok || visit(rec)), err
	})
}

// Waiting returns how many deliveries of a subscription have an attempt to come.
func (d Deliveries) Waiting(r Reader, subscriptionID string) (n int, err error) {
	err = r.Iterate(d, Span{Prefix: scoped('p', subscriptionID, nil), KeysOnly: true}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// Asked visits the deliveries that somebody asked for by records after a sequence,
// in order. It returns the sequence of the last.
func (d Deliveries) Asked(r Reader, after uint64, visit func(DeliveryRecord)) (last uint64, err error) {
	last = after
	from := append([]byte{'n'}, seqKey(after+1)...)
	err = r.Iterate(d, Span{Prefix: []byte{'n'}, From: from}, func(key, value []byte) (bool, error) {
		last = binary.BigEndian.Uint64(key[1:9])
		rec, ok, err := d.Get(r, string(value))
		if ok {
			visit(rec)
		}
		return err == nil, err
	})
	return last, err
}
