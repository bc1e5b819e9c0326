package handler

import (
	"math"
	"net/http"
	"strings"
	"time"

	"svc/commands/operations"
	"svc/domain"
	"svc/http/gateway"
)

// Success is the answer where there is nothing else to tell.
var Success = map[string]bool{"success": true}

// IDResponse is the answer to what removes something.
func IDResponse(id string) map[string]string { return map[string]string{"id": id} }

// OptionalPage is the page of a list that had none once: who names neither page nor limit
// gets all of it, as they did then.
func OptionalPage(r *http.Request) (gateway.Page, error) {
	q := gateway.NewQuery(r)
	page := q.Page(20, 100)
	if !q.Has("page") && !q.Has("limit") {
		page.Limit = math.MaxInt
	}
	return page, q.Err()
}

// ListAll is a short list that had no pages once: all of it, or the page that was asked for.
func ListAll[T any](r *http.Request, all []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	page, err := OptionalPage(r)
	if err != nil {
		return nil, err
	}
	return gateway.ListOf(r, all, page), nil
}

// NonNil returns the items as a list that is encoded as [] when there are none.
func NonNil[T any](items []T) []T { return append([]T{}, items...) }

// FormatTime is a time as answers show it; "" for none.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(domain.Timestamp)
}

// Location is where something is found that a request to a list made.
func Location(r *http.Request, id string) string {
	return strings.TrimRight(r.URL.Path, "/") + "/" + id
}

// CreatedResponse is the answer to a creation: body, at a location.
func CreatedResponse(body any, location string) any {
	if text, isText := body.(gateway.Content); isText {
		text.Status = http.StatusCreated
		text.Header.Set("Location", location)
		return text
	}
	return gateway.Created(body, location)
}

// OperationHeader names the operation that an answer is about.
const OperationHeader = "X-Svc-Operation-Id"

// ProcessingResponse is the answer when an operation takes longer than its caller waits.
type ProcessingResponse struct {
	Processing  bool   `json:"processing"`
	Message     string `json:"message"`
	OperationID string `json:"operationId"`
}

// WithOperation names the operation that an answer is about.
func WithOperation(started *operations.Handle, a *gateway.Answer) *gateway.Answer {
	return a.With(OperationHeader, started.ID())
}
