package feed

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/activity"
)

// The signature of an event with a great many texts has every one of them, too.
func TestTheSignatureOfALargeEvent(t *testing.T) {
	t.Parallel()
	var b bloom
	for i := range b {
		b[i] = 1<<25 - 1 // a bit fewer than two of five
	}
	sig := b.fold()
	require.Len(t, sig, 8*len(b))
	for i, word := range b {
		require.Equal(t, word, binary.LittleEndian.Uint64(sig[8*i:]))
	}
}

// A stored signature is compared with hashes of the same kind for as long as it is stored: it has the bits of each text with
// its path, and of each word, and nothing else.
func TestSignaturesHaveTheBitsOfTextsAndWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9éÄß .-]{0,200}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		e := &Event{ID: text.Draw(t, "id"), Type: text.Draw(t, "type"), Target: &domain.Target{UserTopic: text.Draw(t, "topic")}}
		inside := strings.ToValidUTF8(text.Draw(t, "inside"), "?")
		payload, err := json.Marshal(map[string]any{"a": map[string]any{"b": []any{inside, 12, true, nil}}})
		require.NoError(t, err)
		e.Payload = payload

		var all bloom
		add := func(path, text string) {
			all.add(hashStart.text(path + "=" + text))
			Words(text, func(word string) bool {
				all.add(hashStart.text(word))
				return true
			})
		}
		for path, text := range map[string]string{"id": e.ID, "type": e.Type, "target.userTopic": e.Target.UserTopic} {
			if text != "" {
				add(path, text)
			}
		}
		for _, text := range []string{inside, "12", "true"} {
			add("payload.a.b", text)
		}
		sig := SignatureOf(e)
		want := make(Signature, len(sig))
		for at := range hash(signatureBits) {
			if all[at/64]&(1<<(at%64)) != 0 {
				at %= hash(8 * len(sig))
				want[at/8] |= 1 << (at % 8)
			}
		}
		require.Equal(t, want, sig)
	})
}

// BenchmarkSignature makes the signature of an event of a run.
func BenchmarkSignature(b *testing.B) {
	ev := domain.Recorded{
		ID: "01M7T0RDWS2SK8NB9QE6K1NBP9", Stream: domain.StreamID{Scope: "9GD1mvm"}, Data: activity.Interaction{},
		Meta: domain.Meta{
			UserID: "bc6be9b1-2c73-4d85-aaad-8f488c55bfb1", SessionID: "bc6be9b1-2c73-4d85-aaad-8f488c55bfb1",
			CorrelationID: "1f6007b5-c1b1-421b-b576-ac04df4efb43", TraceID: "b529c6b325068fe7b321dc04aef9528c", AutomationSlug: "order", AutomationDepth: 1,
			ExecutionID: "01M7T0RDWS2SK8NB9QE4AWQADV",
		},
		Body: []byte(`{"workspaceId":"9GD1mvm","automation":"order","trigger":{"type":"endpoint","value":"order"},"startedAt":"2026-11-19T13:43:23.801Z"}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		SignatureOfRecorded(&ev)
	}
}
