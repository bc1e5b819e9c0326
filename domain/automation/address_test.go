package automation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

// What an address is in the end is known when it is sent: one that is made by an
// expression, or of a secret, is no fault of the document, nor of the run before that.
func TestAddressesThatAreKnownLater(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address     string
		saved, runs bool // whether it is taken then
	}{
		{"https://example.com/a?b=c", true, true},
		{"HTTP://example.com", true, true},
		{"{{config.url}}", true, false},
		{"{% {{config.url}} + '/a' %}", true, false},
		{"{{scheme}}://example.com", true, false},
		{"https://{{host}}/a", true, false},
		{"$secret:eyJzIjoid29ya3NwYWNlIiwibiI6ImsifQ.AAAAAAAAAAAAAAAAAAAAAA", true, true},
		{"https://$secret:eyJuIjoiayJ9.AAAAAAAAAAAAAAAAAAAAAA/a", true, true},
		{"https://example.com/$secret:eyJuIjoiayJ9.AAAAAAAAAAAAAAAAAAAAAA", true, true},
		{"", false, false},
		{"/a", false, false},
		{"example.com", false, false},
		{"ftp://example.com", false, false},
		{"https://", false, false},
		{"secret:k", false, false},
		{"{{ unclosed", false, false},
	}
	for _, test := range tests {
		params := value.NewObject("url", test.address)
		_, faults := automation.Parse(value.NewObject("slug", "t", "name", "t", "do", []any{value.NewObject("fetch", params)}), automation.Rules{})
		var told []string
		for _, f := range faults {
			told = append(told, f.String())
		}
		if test.saved {
			require.Empty(t, told, test.address)
		} else {
			require.Equal(t, []string{"do[0].fetch.url: expected an absolute http or https address"}, told, test.address)
		}
		err := automation.CheckParams("do[0].fetch", "fetch", params)
		require.Equal(t, test.runs, err == nil, "%s: %v", test.address, err)
	}
}
