package automation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

func TestWhatAWaitIsFor(t *testing.T) {
	t.Parallel()
	read := func(text string) (options []automation.Awaited, faults []string) {
		params, err := value.ParseJSON(text)
		require.NoError(t, err)
		for _, item := range automation.OneOf(params) {
			o, err := automation.ReadAwaited(item)
			if err != nil {
				faults = append(faults, err.Error())
				continue
			}
			options = append(options, o)
		}
		return options, faults
	}
	for _, text := range []string{`{}`, `{"oneOf":null}`, `{"oneOf":{"event":"e"}}`, `null`, `{"timeout":1}`} {
		options, faults := read(text)
		require.Empty(t, options, text)
		require.Empty(t, faults, text)
	}
	options, faults := read(`{"oneOf":[{"event":"a.*"},{"event":"b","filters":{},"cancelTriggers":true},{"event":"c","filters":{"payload.n":"2"},"cancelTriggers":"yes"},{"event":"d","filters":{"n":{"$nope":1}}},5]}`)
	require.Equal(t, []automation.Awaited{{Event: "a.*"}, {Event: "b", CancelsTriggers: true}}, options[:2])
	require.Equal(t, "c", options[2].Event)
	require.False(t, options[2].CancelsTriggers)
	event, err := value.ParseJSON(`{"payload":{"n":2}}`)
	require.NoError(t, err)
	fits, err := options[2].Matcher.Match(event)
	require.NoError(t, err)
	require.True(t, fits, "loosely")
	require.Equal(t, automation.Awaited{}, options[3], "what is none is for nothing")
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "$nope")
}
