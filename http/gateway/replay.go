package gateway

import (
	"context"
	"encoding/json"
	"errors"
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
	if rec.Ran != "" {
		return nil, false, domain.Refuse(domain.CodeConflict, "it was run for this Idempotency-Key, and its answer could not be kept: it was too large, or the node stopped before").
			Reason("not_recorded").With("correlationId", rec.Ran)
	}
	if rec.Header == nil {
		rec.Header = http.Header{}
	}
	rec.Header.Set("Idempotency-Replayed", "true")
	return &reply{status: rec.Status, header: rec.Header, body: rec.Body}, false, nil
}

// markReplayed makes the answer of work that ran again one of a repeat.
func (rp *reply) markReplayed() (err error) {
	rp.header.Set("Idempotency-Replayed", "true")
	for _, once := range shownOnce {
		rp.header.Del(once)
	}
	if rp.again != nil {
		rp.body, err = json.Marshal(rp.again)
	}
	return err
}

// shownOnce are the headers that a repeat does not get.
var shownOnce = []string{"Set-Cookie", "X-Svc-Csrf-Token"}

// keep stores an answer for a day. The answer itself is sent in any case: the
// write has happened. One that is too large, or that the store does not take, is
// noted only as done.
func (o *onceOnly) keep(r *http.Request, c claim, rp *reply) {
	whole, err := recordOf(r, c, rp)
	if err == nil {
		err = o.put(r, c, whole)
	}
	if err == nil {
		return
	}
	if !errors.Is(err, errTooLarge) {
		o.log.ErrorContext(r.Context(), "answer not kept for its idempotency key", "correlationId", exchangeOf(r).id, "err", err)
	}
	o.keepDone(r, c)
}

// keepDone notes that it was done. A repeat runs again, meets its own events,
// because its ids are functions of its key, and so answers the same. That does not
// hold for automations: they are not run again.
func (o *onceOnly) keepDone(r *http.Request, c claim) {
	rec, ex := record{Print: c.print, Done: true}, exchangeOf(r)
	if ex.route.Runs {
		rec.Ran = ex.id
	} else {
		rec.Again = true
	}
	if o.put(r, c, rec) != nil {
		o.drop(r, c)
	}
}

// errTooLarge is why an answer is not kept.
var errTooLarge = errors.New("gateway: answer too large to be kept")

// recordOf is what a repeat is answered with.
func recordOf(r *http.Request, c claim, rp *reply) (rec record, err error) {
	rec = record{Print: c.print, Done: true, Status: rp.status, Header: rp.header.Clone(), Body: rp.body}
	for _, once := range shownOnce {
		rec.Header.Del(once)
	}
	setPosition(rec.Header, exchangeOf(r).reached(r, rp.status))
	if rp.again != nil {
		rec.Body, err = json.Marshal(rp.again)
	}
	return rec, err
}

func (o *onceOnly) put(r *http.Request, c claim, rec record) error {
	c.hold.end()
	if len(rec.Body) > maxKept {
		return errTooLarge
	}
	encoded, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if len(encoded) > maxKept {
		return errTooLarge
	}
	ctx, cancel := storeContext(r.Context())
	defer cancel()
	return o.store.Put(ctx, c.key, encoded, keptFor)
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
	c.hold.end()
	ctx, cancel := storeContext(r.Context())
	defer cancel()
	if err := o.store.Delete(ctx, c.key); err != nil {
		o.log.WarnContext(r.Context(), "idempotency key not given back", "correlationId", exchangeOf(r).id, "err", err)
	}
}

// storeContext outlives the request: what was done must be remembered.
func storeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeWait)
}
