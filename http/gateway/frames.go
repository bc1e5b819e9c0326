package gateway

import (
	"net/http"

	"svc/domain"
)

// DecodeFrame is Decode for a message of a socket.
func DecodeFrame(body []byte, v any) error { return decodeJSON(body, v) }

// Explain returns what the caller of r may know of an error that is told within a
// stream. What is the operator's business is logged.
func Explain(r *http.Request, err error) *domain.Error {
	_, refusal, known := explain(err)
	if g := exchangeOf(r).gateway; !known && g != nil {
		g.logFailure(r, err)
	}
	return refusal
}
