package activity_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
)

// anyText draws texts of all kinds: with what JSON escapes, and what is not UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{0,8}`), rapid.String(), rapid.StringMatching(`[<>&"\\a \x00-\x1f\x7f\x{2028}\x{2029}]{0,8}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

// anyJSON draws nothing, or a value as somebody may have written it.
func anyJSON() *rapid.Generator[json.RawMessage] {
	return rapid.Map(rapid.SampledFrom([]string{"", "null", "{}", `{"a": "<b>" }`, "[1,\n2]", `"é\u2028"`, "5", "true"}), func(text string) json.RawMessage {
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	})
}

// Events of runs encode and decode themselves: the result is that of encoding/json.
func TestEventsOfRunsAreEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	text := anyText()
	rapid.Check(t, func(t *rapid.T) {
		trigger := activity.Trigger{Type: text.Draw(t, "type"), Value: text.Draw(t, "value"), ID: text.Draw(t, "id"), AppInstanceSlug: text.Draw(t, "instance")}
		executed := activity.Executed{
			Slug: text.Draw(t, "slug"), ExecutionID: text.Draw(t, "execution"), ParentExecutionID: text.Draw(t, "parent"), Trigger: anyJSON().Draw(t, "trigger"),
			Input: anyJSON().Draw(t, "input"), Output: anyJSON().Draw(t, "output"), Duration: rapid.Int64().Draw(t, "duration"),
			Throttled: rapid.Int64().Draw(t, "throttled"), StartedAt: text.Draw(t, "startedAt"), Break: rapid.Bool().Draw(t, "break"),
			Truncated: rapid.Bool().Draw(t, "truncated"), Apart: rapid.Bool().Draw(t, "apart"), Logged: rapid.Bool().Draw(t, "logged"),
			Recorded: rapid.SampledFrom([]any{nil, true, "truncated"}).Draw(t, "recorded"),
		}
		if rapid.Bool().Draw(t, "failed") {
			executed.Error = &activity.Failure{Error: text.Draw(t, "error"), Message: text.Draw(t, "message"), Details: map[string]any{"a": "<"}}
		}
		interaction := activity.Interaction{
			WorkspaceID: text.Draw(t, "workspace"), SourceWorkspaceID: text.Draw(t, "source"), AuthenticatedWorkspaceID: text.Draw(t, "authenticated"),
			Automation: text.Draw(t, "automation"), Trigger: trigger, StartedAt: text.Draw(t, "startedAt"),
		}
		tested := []domain.Event{
			executed,
			activity.EndpointCalled{AutomationSlug: text.Draw(t, "automation"), Method: text.Draw(t, "method"), Endpoint: text.Draw(t, "endpoint")},
			interaction,
			activity.ScheduleFired{Interaction: interaction, ScheduledAt: text.Draw(t, "scheduledAt"), Late: rapid.Bool().Draw(t, "late")},
		}
		require.Len(t, tested, selfEncoders(), "an event that has another one in it has its methods, too")
		for _, ev := range tested {
			want, err := json.Marshal(ev)
			require.NoError(t, err)
			got, err := ev.(domain.SelfEncoder).AppendJSON(nil)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))

			decoded, err := catalog.Events().Decode(ev.EventType(), got)
			require.NoError(t, err)
			wanted, err := decodeWith(ev, got)
			require.NoError(t, err)
			require.Equal(t, wanted, decoded)
		}
		want, err := json.Marshal(trigger)
		require.NoError(t, err)
		require.Equal(t, string(want), string(trigger.Encoded()))
		var decoded activity.Trigger
		require.NoError(t, json.Unmarshal(want, &decoded))
		require.Equal(t, decoded, activity.DecodeTrigger(want))
	})
}

// selfEncoders returns how many types of events of the package encode themselves.
func selfEncoders() (n int) {
	for name := range catalog.Events() {
		if ev, err := catalog.Events().Decode(name, []byte("{}")); err == nil {
			if _, ok := ev.(domain.SelfEncoder); ok && reflect.TypeOf(ev).PkgPath() == reflect.TypeFor[activity.Executed]().PkgPath() {
				n++
			}
		}
	}
	return n
}

// Events with our names may be somebody else's: what encoding/json refuses or reads otherwise is not read in another way.
func TestForeignEventsAreDecodedByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `null`, `[]`, `{"SLUG":"a"}`, `{"slug":5}`, `{"slug":"a","more":1}`, `{"duration":1.5}`, `{"trigger":{"type":5}}`, `{"trigger":{"TYPE":"a"}}`,
		`{"error":"text"}`, `{"break":"yes"}`, `{"slug":null,"break":null,"duration":null}`, `{"method":7}`, `{"automation":["a"]}`, `{"duration":12345678901}`,
	} {
		for _, ev := range []domain.Event{activity.Executed{}, activity.EndpointCalled{}, activity.Interaction{}, activity.ScheduleFired{}} {
			got, err := catalog.Events().Decode(ev.EventType(), []byte(body))
			want, wantErr := decodeWith(ev, []byte(body))
			require.Equal(t, wantErr == nil, err == nil, "%s %s", ev.EventType(), body)
			if err == nil {
				require.Equal(t, want, got, "%s %s", ev.EventType(), body)
			}
		}
	}
}

// decodeWith decodes an event of the same type with encoding/json.
func decodeWith(ev domain.Event, body []byte) (domain.Event, error) {
	switch ev.(type) {
	case activity.Executed:
		return unmarshal[activity.Executed](body)
	case activity.EndpointCalled:
		return unmarshal[activity.EndpointCalled](body)
	case activity.ScheduleFired:
		return unmarshal[activity.ScheduleFired](body)
	}
	return unmarshal[activity.Interaction](body)
}

func unmarshal[E domain.Event](body []byte) (domain.Event, error) {
	var ev E
	err := json.Unmarshal(body, &ev)
	return ev, err
}
