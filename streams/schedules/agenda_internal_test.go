package schedules

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain/automation/cron"
)

func TestTheLastTimeIsFoundHoweverLongNobodyLooked(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 6, 15, 10, 18, 30, 0, time.UTC)
	for name, of := range map[string]struct {
		cron  string
		since string // when it should have fired first
		want  string
	}{
		"one time that was just now":   {"18 10 * * *", "2027-06-15T10:18:00Z", "2027-06-15T10:18:00Z"},
		"the last of three":            {"*/5 * * * *", "2027-06-15T10:05:00Z", "2027-06-15T10:15:00Z"},
		"every minute for three years": {"* * * * *", "2024-06-15T10:05:00Z", "2027-06-15T10:18:00Z"},
		"once a year for three years":  {"@yearly", "2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		"a leap day":                   {"0 0 29 2 *", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
		"an hour of minutes each day":  {"* 3 * * *", "2027-06-01T03:00:00Z", "2027-06-15T03:59:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, err := cron.Parse(of.cron)
			require.NoError(t, err)
			e := &entry{times: times}
			require.NoError(t, e.next.UnmarshalText([]byte(of.since)))
			require.Equal(t, of.want, e.lastDue(now, time.UTC).Format(time.RFC3339))
		})
	}
}

func TestTheAgendaKeepsItsOrder(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 6, 15, 10, 0, 0, 0, time.UTC)
	var a agenda
	entries := map[string]*entry{}
	for _, text := range []string{"30 12 * * *", "0 11 * * *", "*/5 * * * *", "0 0 1 1 *"} {
		times, err := cron.Parse(text)
		require.NoError(t, err)
		e := &entry{times: times}
		e.next = e.nextAfter(now, time.UTC)
		entries[text] = e
		a.add(e)
	}
	require.Equal(t, entries["*/5 * * * *"], a[0])
	a.remove(entries["*/5 * * * *"])
	require.Equal(t, entries["0 11 * * *"], a[0])
	a.reschedule(now.Add(2*time.Hour), time.UTC)
	require.Equal(t, entries["30 12 * * *"], a[0])
	for i, e := range a {
		require.Equal(t, i, e.index)
	}
}

func TestAnIDIsTheSameForWhoeverDerivesIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 6, 15, 10, 0, 0, 0, time.UTC)
	id := deriveID(at, "w1", "tick", "*/5 * * * *")
	require.Equal(t, id, deriveID(at.In(time.FixedZone("east", 3600)), "w1", "tick", "*/5 * * * *"))
	parsed, err := ulid.ParseStrict(id)
	require.NoError(t, err)
	require.Equal(t, at, ulid.Time(parsed.Time()).UTC())
	known := map[string]bool{id: true}
	for _, of := range [][]string{{"w2", "tick", "*/5 * * * *"}, {"w1", "tock", "*/5 * * * *"}, {"w1", "tick", "*/6 * * * *"}, {"w1", "tick", "*/5 * * * *", "run"}} {
		other := deriveID(at, of...)
		require.False(t, known[other])
		known[other] = true
	}
	require.NotEqual(t, id, deriveID(at.Add(time.Minute), "w1", "tick", "*/5 * * * *"))
}

func FuzzWhatIsRegisteredReadsAsItWasWritten(f *testing.F) {
	f.Add("tick", "*/5 * * * *", int64(1), []byte("no record"))
	f.Fuzz(func(t *testing.T, name, text string, since int64, noise []byte) {
		_, _ = decodeRegistration(noise) // whatever it is, it does no harm
		if !utf8.ValidString(name + text) {
			return
		}
		r := registration{WorkspaceID: "w1", At: 7, Automations: []registeredAutomation{{name, 3, []registeredSchedule{{text, since}}}}}
		value, err := r.encode()
		require.NoError(t, err)
		back, err := decodeRegistration(value)
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}
