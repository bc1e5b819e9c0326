package workspaces_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// publish lets everybody read a workspace.
func publish(t *testing.T, s *nodetest.Service, id string) {
	t.Helper()
	got := s.Call(t, http.MethodPost, "/v2/workspaces/"+id+"/permissions", nodetest.As("root"), `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
}
