package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/http/gateway"
	"svc/projections"
)

// deliveriesKept is for how long deliveries are listed.
const deliveriesKept = 30 * 24 * time.Hour

// shownDelivery is a delivery as it is answered.
type shownDelivery struct {
	ID             string              `json:"id"`
	SubscriptionID string              `json:"subscriptionId"`
	EventID        string              `json:"eventId"`
	EventType      string              `json:"eventType"`
	Seq            domain.Position     `json:"seq"`
	Status         subscription.Status `json:"status"`
	Attempts       []shownAttempt      `json:"attempts"`
	NextAttemptAt  string              `json:"nextAttemptAt,omitempty"`
	Replay         bool                `json:"replay"`
	CreatedAt      string              `json:"createdAt"`
}

type shownAttempt struct {
	At           string `json:"at"`
	Status       int    `json:"status,omitempty"`
	Duration     int64  `json:"duration"`
	Error        string `json:"error,omitempty"`
	ResponseBody string `json:"responseBody,omitempty"`
}

func showDelivery(d subscription.Delivery) shownDelivery {
	shown := shownDelivery{
		ID: d.ID, SubscriptionID: d.SubscriptionID, EventID: d.EventID, EventType: d.EventType, Seq: d.Seq, Status: d.Status,
		Attempts: []shownAttempt{}, NextAttemptAt: stampOf(d.NextAttemptAt), Replay: d.Replay != "", CreatedAt: stampOf(d.CreatedAt),
	}
	for _, a := range d.Attempts {
		shown.Attempts = append(shown.Attempts, shownAttempt{stampOf(a.At), a.Status, a.Duration, a.Error, a.ResponseBody})
	}
	return shown
}

// deliveryQuery is what GET …/deliveries asks for.
type deliveryQuery struct {
	status string
	types  []string
	after  time.Time
	before time.Time
	page   gateway.Page
}

func readDeliveryQuery(d Deps, r *http.Request) (deliveryQuery, error) {
	q := gateway.NewQuery(r)
	statuses := []string{string(subscription.Pending), string(subscription.Succeeded), string(subscription.Failed), string(subscription.Dead)}
	asked := deliveryQuery{
		status: q.OneOf("status", "", statuses...), types: q.List("eventType"),
		after: q.Time("afterDate"), before: q.Time("beforeDate"), page: q.Page(50, 100),
	}
	if oldest := d.Now().Add(-deliveriesKept); asked.after.Before(oldest) {
		asked.after = oldest
	}
	return asked, q.Err()
}

func (q deliveryQuery) matches(d projections.DeliveryListed) bool {
	return (q.status == "" || q.status == string(d.Status)) &&
		(len(q.types) == 0 || slices.ContainsFunc(q.types, func(p string) bool { return feed.Like(p, d.EventType) }))
}

// listDeliveries handles GET …/subscriptions/{subscriptionId}/deliveries.
func listDeliveries(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		sub, err := findSubscription(d, r)
		if err != nil {
			return nil, err
		}
		q, err := readDeliveryQuery(d, r)
		if err != nil {
			return nil, err
		}
		var ids []string
		shown, total := []shownDelivery{}, 0
		err = d.ReadModel.View(func(rd projections.Reader) error {
			err := projections.Deliveries{}.List(rd, sub.ID, q.before, func(item projections.DeliveryListed) bool {
				if !item.CreatedAt.After(q.after) || r.Context().Err() != nil {
					return false // those before it are older still, or nobody waits any more
				}
				if !q.matches(item) {
					return true
				}
				if total >= q.page.Offset() && len(ids) < q.page.Limit {
					ids = append(ids, item.ID)
				}
				total++
				return true
			})
			for _, id := range ids {
				rec, ok, readErr := projections.Deliveries{}.Get(rd, id)
				if readErr != nil {
					return readErr
				}
				if ok {
					shown = append(shown, showDelivery(rec.Delivery))
				}
			}
			return err
		})
		return gateway.List(r, shown, total, q.page), err
	}
}

// redeliver handles POST …/deliveries/{deliveryId}/redeliver.
func redeliver(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		sub, err := findSubscription(d, r)
		if err != nil {
			return nil, err
		}
		var rec projections.DeliveryRecord
		id, ok := gateway.Var(r, "deliveryId"), false
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			rec, ok, err = projections.Deliveries{}.Get(rd, id)
			return err
		})
		if err == nil && (!ok || rec.SubscriptionID != sub.ID) {
			err = domain.Refuse(domain.CodeNotFound, "there is no such delivery").With("resource", "delivery").With("id", id)
		}
		if err != nil {
			return nil, err
		}
		again, err := d.Subscriptions.Webhooks.Redeliver(r.Context(), rec)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return gateway.Accepted(showDelivery(again)), nil
	}
}

// testSubscription handles POST …/subscriptions/{subscriptionId}/test.
func testSubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		sub, err := findSubscription(d, r)
		if err != nil {
			return nil, err
		}
		done, err := d.Subscriptions.Webhooks.Test(r.Context(), sub.State)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return showDelivery(done), nil
	}
}

// replayBody is the body of POST …/subscriptions/{subscriptionId}/replay.
type replayBody struct {
	FromSeq    any     `json:"fromSeq"` // a token, or a content revision
	ToSeq      any     `json:"toSeq"`
	AfterDate  *string `json:"afterDate"`
	BeforeDate *string `json:"beforeDate"`
}

// replaySubscription handles POST …/subscriptions/{subscriptionId}/replay.
func replaySubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		sub, err := findSubscription(d, r)
		if err != nil {
			return nil, err
		}
		var in replayBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		span, err := in.span()
		if err != nil {
			return nil, err
		}
		started, err := d.Subscriptions.Webhooks.Replay(r.Context(), sub.State, span)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return withOperation(started, gateway.Accepted(processing{
			Processing: true, Message: "the events are queued: follow the operation by its id", OperationID: started.ID(),
		})), nil
	}
}

// span reads which part of the past is meant.
func (in replayBody) span() (span subscription.Span, err error) {
	switch {
	case in.FromSeq == nil && in.AfterDate == nil:
		return span, missing("fromSeq")
	case in.FromSeq != nil && in.AfterDate != nil:
		return span, unfitting("fromSeq", text{"afterDate", in.AfterDate})
	case in.ToSeq != nil && in.BeforeDate != nil:
		return span, unfitting("toSeq", text{"beforeDate", in.BeforeDate})
	}
	var errs []domain.FieldError
	wrong := func(field, message string) { errs = append(errs, domain.FieldError{Field: field, Message: message}) }
	for _, f := range []struct {
		name  string
		value any
		to    *domain.Position
	}{{"fromSeq", in.FromSeq, &span.From}, {"toSeq", in.ToSeq, &span.To}} {
		text, isText := f.value.(string)
		number, isNumber := f.value.(float64)
		switch {
		case f.value == nil:
			continue
		case isNumber:
			text = strconv.FormatFloat(number, 'f', -1, 64)
		case !isText:
			return span, refuseField(f.name, "must be a text or a number")
		}
		if *f.to, err = readPosition(text); err != nil {
			wrong(f.name, "must be a sequence token or a content revision")
		}
	}
	for _, f := range []struct {
		text
		to *time.Time
	}{{text{"afterDate", in.AfterDate}, &span.After}, {text{"beforeDate", in.BeforeDate}, &span.Before}} {
		if f.value == nil {
			continue
		}
		if *f.to, err = time.Parse(time.RFC3339, *f.value); err != nil {
			wrong(f.name, "must be a time such as 2026-01-31T12:00:00Z")
		}
	}
	if len(errs) > 0 {
		return span, domain.Invalid(errs...)
	}
	return span, nil
}

// readPosition reads a token, or a content revision.
func readPosition(text string) (domain.Position, error) {
	at, err := domain.ParsePosition(text)
	if revision, notNumber := strconv.ParseUint(text, 10, 64); err != nil && notNumber == nil && revision > 0 {
		return domain.At(domain.State, revision), nil
	}
	return at, err
}
