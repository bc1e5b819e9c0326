package api

import (
	"net/http"
	"time"

	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/http/gateway"
)

// The wait for an operation: how long it is unless the caller says otherwise, and
// what of the request's time is left to answer in.
const (
	usualWait  = 15 * time.Second
	answerTime = 5 * time.Second
)

// operationHeader names the operation that an answer is about.
const operationHeader = "X-Svc-Operation-Id"

// longWait reads for how long the caller waits for an operation. A handler asks
// for it before it starts one.
func longWait(r *http.Request) (time.Duration, error) {
	q := gateway.NewQuery(r)
	wait := q.Seconds("timeout", usualWait)
	return min(wait, max(0, gateway.Timeout(r)-answerTime)), q.Err()
}

// processing is the answer when an operation takes longer than its caller waits.
type processing struct {
	Processing  bool   `json:"processing"`
	Message     string `json:"message"`
	OperationID string `json:"operationId"`
}

// answerLong answers when an operation has ended: with answer when it succeeded,
// else as the call itself would have failed. When it takes longer than the caller
// waits they are told how to follow it.
func (d Deps) answerLong(r *http.Request, h *operations.Handle, answer func(operation.State) (any, error)) (any, error) {
	wait, err := longWait(r)
	if err != nil {
		return nil, err
	}
	end, ended := h.Wait(r.Context(), wait)
	if !ended {
		settle(r.Context(), d.ReadModel)
		return withOperation(h, gateway.Accepted(processing{
			Processing: true, Message: "the operation goes on: follow it by its id", OperationID: h.ID(),
		})), nil
	}
	if end.Failure != nil {
		settle(r.Context(), d.ReadModel)
		return nil, gateway.RefuseWith(end.Failure.Error(), operationHeader, h.ID())
	}
	settleLong(r.Context(), d.ReadModel)
	if end, err = d.whole(r.Context(), end); err != nil {
		return nil, err
	}
	body, err := answer(end)
	if err != nil {
		return nil, err
	}
	if full, ok := body.(*gateway.Answer); ok {
		return withOperation(h, full), nil
	}
	return withOperation(h, gateway.OK(body)), nil
}

// answerBulk answers with the end of a run, or tells of it as it goes.
func (d Deps) answerBulk(r *http.Request, h *operations.Handle, sse bool) (any, error) {
	if !sse {
		return d.answerLong(r, h, itsResult)
	}
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set(operationHeader, h.ID())
		f := &frames{w: w, flush: http.NewResponseController(w).Flush, only: bulkEvent}
		err := f.begin(r, d, operation.Stream(domain.Platform, h.ID()))
		return f.last, err
	}}, nil
}

func withOperation(h *operations.Handle, a *gateway.Answer) *gateway.Answer {
	return a.With(operationHeader, h.ID())
}
