package fetch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation/value"
)

// What proves who sends a request is not told, and nothing of the request is changed.
func TestRequestsAreToldWithoutCredentials(t *testing.T) {
	t.Parallel()
	for given, told := range map[string]string{
		`{}`: `{}`,
		`{"url":"http://h/%7Ea?b=1","method":"post","body":{"authorization":"a"},"headers":{"X-A":"b"}}`:                `{"url":"http://h/%7Ea?b=1","method":"post","body":{"authorization":"a"},"headers":{"X-A":"b"}}`,
		`{"url":"http://u:pw@h/a","headers":{"Authorization":"Bearer x","COOKIE":["a"],"x-svc-api-key":"k","x-a":"b"}}`: `{"url":"http://u:xxxxx@h/a","headers":{"Authorization":"REDACTED","COOKIE":"REDACTED","x-svc-api-key":"REDACTED","x-a":"b"}}`,
		`{"url":":","headers":"x","auth":"x"}`: `{"url":":","headers":"x","auth":"x"}`,
		`{"auth":{"basic":{"user":"u","password":"p"},"awsv4":{"accessKeyId":"i","secretAccessKey":"s","region":"r"},"oauth2":{"tokenUrl":"http://a:b@t","clientId":"i","clientSecret":"s","scope":"c"},"svc":{"forwardWorkspaceAuth":true}}}`: `{"auth":{"basic":{"user":"u","password":"REDACTED"},"awsv4":{"accessKeyId":"i","secretAccessKey":"REDACTED","region":"r"},"oauth2":{"tokenUrl":"http://a:xxxxx@t","clientId":"i","clientSecret":"REDACTED","scope":"c"},"svc":{"forwardWorkspaceAuth":true}}}`,
		`{"auth":{"basic":5,"oauth2":{}}}`: `{"auth":{"basic":5,"oauth2":{}}}`,
	} {
		params := params(t, given, "")
		require.Equal(t, told, value.JSON(fetch.Shown(params), ""))
		require.Equal(t, given, value.JSON(params, ""))
	}
	require.Nil(t, fetch.Shown(nil))
}
