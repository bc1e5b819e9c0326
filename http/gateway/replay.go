package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"svc/domain"
)

// replay answers from what is kept under a key.
func replay(kept []byte, print string) (rp *reply, pending bool, err error) {
	var rec record
	if err := json.Unmarshal(kept, &rec); err != nil {
		return nil, false, fmt.Errorf("read kept answer: %w", err)
	}
	if rec.Print != print {
		return nil, false, domain.Refuse(domain.CodeConflict, "this Idempotency-Key was used for another request").
			Reason("idempotency_key_reused")
	}
	if !rec.Done {
		return nil, true, nil
	}
	if rec.Header == nil {
		rec.Header = http.Header{}
	}
	rec.Header.Set("Idempotency-Replayed", "true")
	return &reply{status: rec.Status, header: rec.Header, body: rec.Body}, false, nil
}

// keep stores an answer for a day. The answer itself is sent in any case: the
// write has happened.
func (o *onceOnly) keep(r *http.Request, c claim, rp *reply) {
	rec := record{Print: c.print, Done: true, Status: rp.status, Header: rp.header.Clone(), Body: rp.body}
	for _, once := range []string{"Set-Cookie", "X-Svc-Csrf-Token"} {
		rec.Header.Del(once)
	}
	if pos := exchangeOf(r).command.Position(); !pos.IsZero() {
		rec.Header.Set("X-Svc-Seq", pos.Token())
	}
	var err error
	if rp.again != nil {
		rec.Body, err = json.Marshal(rp.again)
	}
	encoded, bad := json.Marshal(rec)
	if err == nil && bad == nil {
		ctx, cancel := storeContext(r)
		defer cancel()
		err = o.store.Put(ctx, c.key, encoded, keptFor)
	}
	if err != nil || bad != nil {
		o.log.ErrorContext(r.Context(), "answer not kept for its idempotency key", "correlationId", exchangeOf(r).id, "err", err)
	}
}

// keepLast keeps the last frame of a stream, or nothing when it failed.
func (o *onceOnly) keepLast(r *http.Request, c claim, last any, failure error) {
	body, err := json.Marshal(last)
	if failure != nil || last == nil || err != nil {
		o.drop(r, c)
		return
	}
	o.keep(r, c, &reply{status: http.StatusOK, header: http.Header{"Content-Type": {jsonType}}, body: body})
}

func (o *onceOnly) drop(r *http.Request, c claim) {
	ctx, cancel := storeContext(r)
	defer cancel()
	if err := o.store.Drop(ctx, c.key); err != nil {
		o.log.WarnContext(r.Context(), "idempotency key not given back", "correlationId", exchangeOf(r).id, "err", err)
	}
}

// storeContext outlives the request: what was done must be remembered.
func storeContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), storeWait)
}
