package nodetest

import (
	"context"
	"fmt"
	"net/http"
)

// Posts calls an endpoint where a test may not end, and returns the answer.
func (p Place) Posts(ctx context.Context, path, body string) (Answer, error) {
	got, err := p.Service.Request(ctx, http.MethodPost, p.Path+"/webhooks/"+path, p.Me, body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, got.Body)
	}
	return got, err
}
