package gateway

import (
	"net/http"

	"svc/domain"
)

// DecodeFrame is Decode for a message of a socket.
func DecodeFrame(body []byte, v any) error { return decodeJSON(body, v) }

// ErrorFrame is an error as the last word of a stream: what its answer would have
// been, in the shape of the API version of r.
func ErrorFrame(r *http.Request, err error) []byte {
	_ = Explain(r, err) // for the operator
	return failure(exchangeOf(r), err).body
}

// Explain returns what the caller of r may know of an error that is told within a
// stream. What is the operator's business is logged.
func Explain(r *http.Request, err error) *domain.Error {
	_, refusal, known := explain(err)
	if g := exchangeOf(r).gateway; !known && g != nil {
		g.logFailure(r, err)
	}
	return refusal
}
