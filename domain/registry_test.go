package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

type opened struct {
	Door string `json:"door"`
}

func (opened) EventType() string { return "doors.opened" }

func newTestRegistry() domain.Registry {
	return domain.NewRegistry(domain.Describe[opened](domain.State, "A door was opened."))
}

func TestARowIsNamedByItsType(t *testing.T) {
	row := newTestRegistry()["doors.opened"]
	require.Equal(t, "doors.opened", row.Name)
	require.Equal(t, domain.State, row.Log)
	require.Equal(t, 1, row.Schema)
	require.Equal(t, "A door was opened.", row.Summary)
}

func TestAStoredEventOpensAsItsType(t *testing.T) {
	ev, err := newTestRegistry().Decode("doors.opened", []byte(`{"door":"front","added":"by a newer version"}`))
	require.NoError(t, err)
	require.Equal(t, opened{Door: "front"}, ev)
}

func TestABodyThatDoesNotOpenNamesItsType(t *testing.T) {
	for _, body := range []string{"", "{", `{"door":1}`, `[]`} {
		_, err := newTestRegistry().Decode("doors.opened", []byte(body))
		require.ErrorContains(t, err, "decode doors.opened")
	}
}

func TestATypeOutsideTheTableIsKeptAsItIs(t *testing.T) {
	body := []byte(`{"any":["thing",1]}`)
	ev, err := newTestRegistry().Decode("order.placed", body)
	require.NoError(t, err)
	require.Equal(t, "order.placed", ev.EventType())

	body[2] = 'X' // the reader's buffer is used again
	stored, err := json.Marshal(ev)
	require.NoError(t, err)
	require.JSONEq(t, `{"any":["thing",1]}`, string(stored))
}

func TestTwoFactsWithOneNameDoNotStart(t *testing.T) {
	row := domain.Describe[opened](domain.State, "A door was opened.")
	require.PanicsWithValue(t, "domain: event type registered twice: doors.opened", func() { domain.NewRegistry(row, row) })
}

func TestAVoidEventHasANameAndNothingElse(t *testing.T) {
	require.Equal(t, "doors.opened", domain.Void{Name: "doors.opened"}.EventType())
}

func TestAFoldMeetsEveryFactInOrder(t *testing.T) {
	d := domain.Decider[string, struct{}]{Kind: "door", Evolve: func(s string, ev domain.Event) string {
		if e, ok := ev.(opened); ok {
			return s + e.Door
		}
		return s
	}}
	require.Equal(t, "abc", d.Fold("a", opened{"b"}, domain.Void{Name: "doors.opened"}, opened{"c"}))
	require.Equal(t, "a", d.Fold("a"))
	require.Equal(t, domain.StreamID{Scope: "w1", Kind: "door", ID: "d1"}, d.Stream("w1", "d1"))
	require.Equal(t, "w1/door/d1", d.Stream("w1", "d1").String())
}
