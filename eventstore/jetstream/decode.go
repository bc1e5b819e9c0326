package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"svc/domain"
)

// errDamaged says that a stored message does not open.
var errDamaged = errors.New("the stored event is damaged")

// decode turns a stored message back into an event.
func (s *Store) decode(log domain.Log, m stored) (domain.Recorded, error) {
	ev := domain.Recorded{Log: log, Seq: m.seq, At: m.at, Size: len(m.data)}
	var name string
	var body json.RawMessage
	err := members(m.data, func(key, value []byte) error {
		switch string(key) {
		case "id":
			return text(&ev.ID, value)
		case "type":
			return text(&name, value)
		case "workspaceId":
			return text(&ev.Stream.Scope, value)
		case "aggregate":
			return text(&ev.Stream.Kind, value)
		case "aggregateId":
			return text(&ev.Stream.ID, value)
		case "source":
			return decodeMeta(&ev.Meta, value)
		case "target":
			return json.Unmarshal(value, &ev.Target)
		case "options":
			return json.Unmarshal(value, &ev.Options)
		case "payload":
			ev.Body = value
			if body == nil {
				body = value
			}
		case "data":
			body = value // what folding needs, in place of what is shown
		}
		return nil
	})
	if err != nil {
		return domain.Recorded{}, fmt.Errorf("%s %d: %w", log, m.seq, errors.Join(errDamaged, err))
	}
	if ev.Data, err = s.opts.Events.Decode(name, body); err != nil && log == domain.Activity {
		ev.Data, err = domain.Unknown{Name: name, Body: slices.Clone(body)}, nil // somebody's own, of one of our names
	}
	if err != nil {
		return domain.Recorded{}, fmt.Errorf("%s %d: %w", log, m.seq, err)
	}
	return ev, nil
}

// decodeMeta is json.Unmarshal for the source of an event: its texts are read
// in place, the rest by the package itself.
func decodeMeta(to *domain.Meta, value []byte) error {
	return members(value, func(key, value []byte) error {
		switch string(key) {
		case "userId":
			return text(&to.UserID, value)
		case "sessionId":
			return text(&to.SessionID, value)
		case "correlationId":
			return text(&to.CorrelationID, value)
		case "traceId":
			return text(&to.TraceID, value)
		case "ip":
			return text(&to.IP, value)
		case "host":
			return decodeHost(&to.Host, value)
		case "http":
			return decodeHTTP(to, value)
		}
		return decodeRest(to, key, value)
	})
}

func decodeHost(to *domain.Host, value []byte) error {
	return members(value, func(key, value []byte) error {
		switch string(key) {
		case "service":
			return text(&to.Service, value)
		case "replica":
			return text(&to.Replica, value)
		}
		return nil
	})
}

func decodeHTTP(to *domain.Meta, value []byte) error {
	to.HTTP = &domain.HTTPCause{}
	return members(value, func(key, value []byte) error {
		switch string(key) {
		case "method":
			return text(&to.HTTP.Method, value)
		case "path":
			return text(&to.HTTP.Path, value)
		case "hostname":
			return text(&to.HTTP.Hostname, value)
		}
		return nil
	})
}

// decodeRest decodes a member that few events have.
func decodeRest(to *domain.Meta, key, value []byte) error {
	one := make([]byte, 0, len(key)+len(value)+5)
	one = append(append(append(append(one, `{"`...), key...), `":`...), value...)
	return json.Unmarshal(append(one, '}'), to)
}
