package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// The contract has one language of conditions: rules and automations find the same in
// lists that a path crosses.
func TestRulesFindWhatAutomationsDo(t *testing.T) {
	for _, conditions := range []string{
		`{"a.b":{"$exists":true}}`, `{"a.b":{"$exists":false}}`, `{"a.b":{"$not":{"$exists":true}}}`, `{"a.b":{"$not":{"$exists":false}}}`,
		`{"a.b":null}`, `{"a.b":{"$ne":null}}`, `{"a.b":1}`, `{"a.b":{"$ne":1}}`, `{"a.b.c":{"$exists":false}}`, `{"a":{"$elemMatch":{"b":{"$exists":false}}}}`,
	} {
		parsed, err := value.ParseJSON(conditions)
		require.NoError(t, err)
		matcher, err := expr.CompileMatcher(parsed.(*value.Object), false)
		require.NoError(t, err)
		may := workspace(t, fileRule(object(t, conditions))).For(nobody).Filter("read", "files")
		for _, text := range []string{
			`{}`, `{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":{"b":null}}`, `{"a":{"b":1}}`, `{"a":[]}`, `{"a":[{}]}`, `{"a":[5]}`,
			`{"a":[{"b":1}]}`, `{"a":[{},{"b":1}]}`, `{"a":[{"b":1},5]}`, `{"a":[{"b":null}]}`, `{"a":[{"b":1},{"b":2}]}`,
			`{"a":[{"b":[]}]}`, `{"a":[{"b":[{"c":1},{}]}]}`, `{"a":[{"b":{"c":1}},{"b":[{"c":2}]}]}`,
		} {
			asked, err := value.ParseJSON(text)
			require.NoError(t, err)
			fits, err := matcher.Match(asked)
			require.NoError(t, err)
			require.Equal(t, fits, may(with("files", here, object(t, text))), "%s of %s", conditions, text)
		}
	}
}
