package review_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/review"
)

// Automations that nested blocks and stubs name are found, each where it is named first. An instance of an app resolves its own.
func TestNamedAutomationsAreFound(t *testing.T) {
	t.Parallel()
	page, suite := &document.Map{}, &document.Map{}
	require.NoError(t, json.Unmarshal([]byte(`{"slug":"p","automation":"init","blocks":[{"slug":"Tabs","tabs":[{"content":{"slug":"Table","automation":"rows"}}]},
		{"slug":"Table","automation":{"slug":"rows"}},{"slug":"Shop.List","automation":"theirs"},{"slug":"Text","automation":"{{config.which}}"}]}`), page))
	require.Equal(t, []automation.Reference{{Name: "init", Field: "automation"}, {Name: "rows", Field: "blocks[0].tabs[0].content.automation"}}, review.Page(page).Calls)
	require.NoError(t, json.Unmarshal([]byte(`{"slug":"s","automation":"charge","stubs":{"automations":[{"automation":"notify"},{"automation":"Mail.send"}]}}`), suite))
	require.Equal(t, []automation.Reference{{Name: "charge", Field: "automation"}, {Name: "notify", Field: "stubs.automations[0].automation"}}, review.Test(suite).Calls)
}
