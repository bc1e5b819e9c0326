package jetstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

// What users call their events becomes a subject only token by token, encoded.
func TestTheNamesOfEmittedEventsReachNoSubjectAsTheyAre(t *testing.T) {
	t.Parallel()
	s := openHere(t, Options{})
	for name, want := range map[string]string{
		"order.paid":                "order.paid",
		"a..b":                      "a.%.b",
		".a":                        "%.a",
		"a.":                        "a.%",
		"a b":                       "a%20b",
		"a.*":                       "a.%2A",
		"a.>":                       "a.%3E",
		"$JS.API.x":                 "%24JS.API.x",
		"a\r\nb":                    "a%0D%0Ab",
		strings.Repeat("n", 200):    strings.Repeat("n", 200),
		strings.Repeat(" ", 200):    token(strings.Repeat(" ", 200)),
		strings.Repeat("n", 10<<10): token(strings.Repeat("n", 10<<10)),
		strings.Repeat("*.", 5<<10): typeTokens(strings.Repeat("*.", 5<<10)),
	} {
		receipt, err := s.Log.Append(t.Context(), eventstore.Commit{
			Stream: domain.StreamID{Scope: "w1"},
			Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: json.RawMessage(`{}`)}}},
		})
		require.NoError(t, err, "%q", name)
		stream, err := s.conn.js.Stream(t.Context(), string(domain.Activity))
		require.NoError(t, err)
		stored, err := stream.GetMsg(t.Context(), receipt.Seqs[0])
		require.NoError(t, err)
		require.Equal(t, "svc.activity.w1."+want, stored.Subject)
		ev, _, err := s.Log.Read(t.Context(), domain.Activity, receipt.Seqs[0])
		require.NoError(t, err)
		require.Equal(t, name, ev.Data.EventType(), "the envelope has the truth")
	}
}
