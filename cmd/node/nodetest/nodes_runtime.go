package nodetest

import (
	"context"
	"fmt"
	"net/http"
)

// PostEndpoint calls an endpoint, and returns errors instead of ending the test.
func (p Workspace) PostEndpoint(ctx context.Context, path, body string) (Answer, error) {
	got, err := p.Service.Request(ctx, http.MethodPost, p.Path+"/webhooks/"+path, p.Auth, body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, got.Body)
	}
	return got, err
}
