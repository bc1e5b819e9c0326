package domain_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

type plain struct{ N int }

func (plain) EventType() string { return "plain" }

type masked struct{ plain }

func (masked) Payload() any { return "shown" }

type dated struct{ masked }

func (dated) PayloadAt(revision uint64) any { return revision }

func TestAPayloadTellsWhatThePlaceOfItsEventTells(t *testing.T) {
	t.Parallel()
	at := func(ev domain.Event) domain.Recorded {
		return domain.Recorded{Stream: domain.StreamID{Scope: "w1", Kind: "workspace", ID: "w1"}, Seq: 7, Data: ev}
	}
	lost := errors.New("not known")
	for name, c := range map[string]struct {
		event    domain.Event
		revision func(string, uint64) (uint64, error)
		want     any
		err      error
	}{
		"an event is its own payload":      {event: plain{1}, want: plain{1}},
		"or shows another":                 {event: masked{}, want: "shown"},
		"one that changed the content":     {event: dated{}, revision: func(_ string, seq uint64) (uint64, error) { return seq, nil }, want: uint64(7)},
		"one of the workspace w1":          {event: dated{}, revision: func(id string, _ uint64) (uint64, error) { return uint64(len(id)), nil }, want: uint64(2)},
		"a revision that cannot be learnt": {event: dated{}, revision: func(string, uint64) (uint64, error) { return 0, lost }, want: uint64(0), err: lost},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := domain.PayloadOf(at(c.event), c.revision)
			require.Equal(t, c.want, got)
			require.ErrorIs(t, err, c.err)
		})
	}
}
