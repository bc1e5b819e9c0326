package events

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/commands/operations"
	"svc/commands/subscriptions"
	"svc/domain"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Webhooks does what is asked for besides the usual deliveries. It is a
// *webhooks.Webhooks.
type Webhooks interface {
	// Test delivers one event at once, and not again.
	Test(ctx context.Context, sub subscription.State) (subscription.Delivery, error)
	// Redeliver has an event delivered once more.
	Redeliver(ctx context.Context, rec projections.DeliveryRecord) (subscription.Delivery, error)
	// Replay has the events of a span delivered once more.
	Replay(ctx context.Context, sub subscription.State, span subscription.Span) (*operations.Handle, error)
}

// subscriptionRequest is the body of PATCH …/subscriptions/{id}.
type subscriptionRequest struct {
	URL         handler.Field[string]         `json:"url"`
	Types       handler.Field[[]string]       `json:"types"`
	Filters     handler.Field[map[string]any] `json:"filters"`
	OrderKey    handler.Field[string]         `json:"orderKey"`
	Description handler.Field[string]         `json:"description"`
	Disabled    handler.Field[bool]           `json:"disabled"`
}

// createSubscriptionRequest is the body of POST …/subscriptions.
type createSubscriptionRequest struct {
	subscriptionRequest
	Secret *string `json:"secret"`
}

// subscriptionResponse is a subscription as it is answered.
type subscriptionResponse struct {
	ID             string         `json:"id"`
	URL            string         `json:"url"`
	Types          []string       `json:"types"`
	Filters        map[string]any `json:"filters"`
	OrderKey       string         `json:"orderKey"`
	Description    string         `json:"description"`
	Disabled       bool           `json:"disabled"`
	DisabledReason string         `json:"disabledReason,omitempty"`
	Breaker        string         `json:"breaker"`
	LastDeliveryAt string         `json:"lastDeliveryAt,omitempty"`
	FailingSince   string         `json:"failingSince,omitempty"`
	SecretLast4    string         `json:"secretLast4"`
	CreatedAt      string         `json:"createdAt"`
	CreatedBy      string         `json:"createdBy"`
	UpdatedAt      string         `json:"updatedAt"`
	UpdatedBy      string         `json:"updatedBy"`
	Secret         string         `json:"secret,omitempty"` // once
}

// Replayable implements gateway.Replayable: a repeat does not see the secret.
func (s subscriptionResponse) Replayable() any {
	s.Secret = ""
	return s
}

// ListSubscriptions handles GET …/subscriptions.
func (h *Handlers) ListSubscriptions(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	list, err := projections.Subscriptions{}.Of(rd, handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	items := make([]subscriptionResponse, len(list))
	for i, rec := range list {
		if items[i], err = toSubscriptionResponse(rd, rec); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(items, func(a, b subscriptionResponse) int { return strings.Compare(b.UpdatedAt, a.UpdatedAt) })
	return gateway.ListOf(r, items, page), nil
}

// CreateSubscription handles POST …/subscriptions.
func (h *Handlers) CreateSubscription(r *http.Request) (any, error) {
	var in createSubscriptionRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	switch {
	case in.URL.Value == nil:
		return nil, handler.MissingField("url")
	case in.Types.Value == nil:
		return nil, handler.MissingField("types")
	}
	secret, err := readSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	made, secret, err := h.Subscriptions.Create(r.Context(), handler.WorkspaceID(r), in.patch().On(subscription.Terms{}), secret)
	if err != nil {
		return nil, err
	}
	response, err := h.savedSubscriptionResponse(r, made)
	response.Secret = secret
	return gateway.Created(response, handler.Location(r, response.ID)), err
}

// readSecret is the secret of a body; "" when it has none and one is to be made.
func readSecret(given *string) (string, error) {
	if given == nil {
		return "", nil
	}
	return *given, subscription.CheckSecret(*given)
}

func (p subscriptionRequest) patch() subscription.Patch {
	return subscription.Patch{
		URL: p.URL.OrNil(), Types: p.Types.OrNil(), Filters: p.Filters.OrNil(), OrderKey: p.OrderKey.OrNil(),
		Description: p.Description.OrNil(), Disabled: p.Disabled.OrNil(),
	}
}

// GetSubscription handles GET …/subscriptions/{subscriptionId}.
func (h *Handlers) GetSubscription(r *http.Request) (any, error) {
	rec, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	return projections.Read(h.ReadModel, toSubscriptionResponse, rec)
}

// UpdateSubscription handles PATCH …/subscriptions/{subscriptionId}.
func (h *Handlers) UpdateSubscription(r *http.Request) (any, error) {
	rec, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	var in subscriptionRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	done, err := h.Subscriptions.Change(r.Context(), handler.WorkspaceID(r), rec.ID, in.patch())
	if err != nil {
		return nil, err
	}
	return h.savedSubscriptionResponse(r, done)
}

// DeleteSubscription handles DELETE …/subscriptions/{subscriptionId}.
func (h *Handlers) DeleteSubscription(r *http.Request) (any, error) {
	rec, err := h.findSubscription(r)
	if err == nil {
		err = h.Subscriptions.Delete(r.Context(), handler.WorkspaceID(r), rec.ID)
	}
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(rec.ID), nil
}

// The overlap of two secrets: how long it usually is, and at most, in seconds.
const (
	usualOverlap = 86400
	maxOverlap   = 30 * 86400
)

// RotateSecret handles POST …/subscriptions/{subscriptionId}/rotateSecret.
func (h *Handlers) RotateSecret(r *http.Request) (any, error) {
	rec, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	in := struct {
		Secret  *string `json:"secret"`
		Overlap *int    `json:"overlap"`
	}{}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	overlap := usualOverlap
	if in.Overlap != nil {
		overlap = *in.Overlap
	}
	if overlap < 0 || overlap > maxOverlap {
		return nil, domain.Invalid(domain.FieldError{Field: "overlap", Message: "must be 0 to 2592000 seconds"})
	}
	secret, err := readSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	done, secret, err := h.Subscriptions.Rotate(r.Context(), handler.WorkspaceID(r), rec.ID, secret, time.Duration(overlap)*time.Second)
	if err != nil {
		return nil, err
	}
	response, err := h.savedSubscriptionResponse(r, done)
	response.Secret = secret
	return response, err
}

// findSubscription returns the subscription that the path names.
func (h *Handlers) findSubscription(r *http.Request) (projections.SubscriptionRecord, error) {
	id := gateway.Var(r, "subscriptionId")
	rec, ok, err := projections.FindIn(h.ReadModel, projections.Subscriptions{}.Get, handler.WorkspaceID(r), id)
	if err == nil && !ok {
		err = domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription").With("id", id)
	}
	return rec, err
}

// savedSubscriptionResponse is the answer to a write: the subscription as a read would show it
// now, or as it was written when a read does not show it yet.
func (h *Handlers) savedSubscriptionResponse(r *http.Request, done subscriptions.Subscription) (subscriptionResponse, error) {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	rec, ok, err := projections.Subscriptions{}.Get(rd, done.State.WorkspaceID, done.State.ID)
	if err != nil {
		return subscriptionResponse{}, err
	}
	if !ok {
		rec.State = done.State
	}
	return toSubscriptionResponse(rd, rec)
}

func toSubscriptionResponse(rd projections.Reader, rec projections.SubscriptionRecord) (subscriptionResponse, error) {
	record, err := projections.Deliveries{}.Health(rd, rec.ID)
	health := record.Since(rec.ClosedAt)
	response := subscriptionResponse{
		ID: rec.ID, URL: rec.URL, Types: rec.Types, Filters: rec.Filters, OrderKey: rec.OrderKey, Description: rec.Description,
		Disabled: rec.Disabled, DisabledReason: rec.Reason, Breaker: "closed", SecretLast4: rec.Keys.Last4,
		LastDeliveryAt: handler.FormatTime(health.LastDeliveryAt), FailingSince: handler.FormatTime(health.FailingSince),
		CreatedAt: rec.CreatedAt, CreatedBy: rec.CreatedBy, UpdatedAt: rec.UpdatedAt, UpdatedBy: rec.UpdatedBy,
	}
	if health.Broken() {
		response.Breaker = "open"
	}
	return response, err
}

// deliveriesKept is for how long deliveries are listed.
const deliveriesKept = 30 * 24 * time.Hour

// deliveryResponse is a delivery as it is answered.
type deliveryResponse struct {
	ID             string              `json:"id"`
	SubscriptionID string              `json:"subscriptionId"`
	EventID        string              `json:"eventId"`
	EventType      string              `json:"eventType"`
	Seq            domain.Position     `json:"seq"`
	Status         subscription.Status `json:"status"`
	Attempts       []attemptResponse   `json:"attempts"`
	NextAttemptAt  string              `json:"nextAttemptAt,omitempty"`
	Replay         bool                `json:"replay"`
	CreatedAt      string              `json:"createdAt"`
}

type attemptResponse struct {
	At           string `json:"at"`
	Status       int    `json:"status,omitempty"`
	Duration     int64  `json:"duration"`
	Error        string `json:"error,omitempty"`
	ResponseBody string `json:"responseBody,omitempty"`
}

func toDeliveryResponse(d subscription.Delivery) deliveryResponse {
	response := deliveryResponse{
		ID: d.ID, SubscriptionID: d.SubscriptionID, EventID: d.EventID, EventType: d.EventType, Seq: d.Seq, Status: d.Status,
		Attempts: []attemptResponse{}, NextAttemptAt: handler.FormatTime(d.NextAttemptAt), Replay: d.Replay != "", CreatedAt: handler.FormatTime(d.CreatedAt),
	}
	for _, a := range d.Attempts {
		response.Attempts = append(response.Attempts, attemptResponse{handler.FormatTime(a.At), a.Status, a.Duration, a.Error, a.ResponseBody})
	}
	return response
}

// deliveryQuery is what GET …/deliveries asks for.
type deliveryQuery struct {
	status string
	types  []string
	after  time.Time
	before time.Time
	page   gateway.Page
}

func (h *Handlers) readDeliveryQuery(r *http.Request) (deliveryQuery, error) {
	q := gateway.NewQuery(r)
	statuses := []string{string(subscription.Pending), string(subscription.Succeeded), string(subscription.Failed), string(subscription.Dead)}
	asked := deliveryQuery{
		status: q.OneOf("status", "", statuses...), types: q.List("eventType"),
		after: q.Time("afterDate"), before: q.Time("beforeDate"), page: q.Page(50, 100),
	}
	if oldest := h.Now().Add(-deliveriesKept); asked.after.Before(oldest) {
		asked.after = oldest
	}
	return asked, q.Err()
}

func (q deliveryQuery) matches(d projections.DeliveryListed) bool {
	return (q.status == "" || q.status == string(d.Status)) &&
		(len(q.types) == 0 || slices.ContainsFunc(q.types, func(p string) bool { return feed.Like(p, d.EventType) }))
}

// ListDeliveries handles GET …/subscriptions/{subscriptionId}/deliveries.
func (h *Handlers) ListDeliveries(r *http.Request) (any, error) {
	sub, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	q, err := h.readDeliveryQuery(r)
	if err != nil {
		return nil, err
	}
	var ids []string
	items, total := []deliveryResponse{}, 0
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.Deliveries{}.List(rd, sub.ID, q.before, func(item projections.DeliveryListed) bool {
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
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		rec, ok, err := projections.Deliveries{}.Get(rd, id)
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, toDeliveryResponse(rec.Delivery))
		}
	}
	return gateway.List(r, items, total, q.page), nil
}

// Redeliver handles POST …/deliveries/{deliveryId}/redeliver.
func (h *Handlers) Redeliver(r *http.Request) (any, error) {
	sub, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	id := gateway.Var(r, "deliveryId")
	rec, ok, err := projections.Find(h.ReadModel, projections.Deliveries{}.Get, id)
	if err == nil && (!ok || rec.SubscriptionID != sub.ID) {
		err = domain.Refuse(domain.CodeNotFound, "there is no such delivery").With("resource", "delivery").With("id", id)
	}
	if err != nil {
		return nil, err
	}
	again, err := h.Webhooks.Redeliver(r.Context(), rec)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return gateway.Accepted(toDeliveryResponse(again)), nil
}

// TestSubscription handles POST …/subscriptions/{subscriptionId}/test.
func (h *Handlers) TestSubscription(r *http.Request) (any, error) {
	sub, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	done, err := h.Webhooks.Test(r.Context(), sub.State)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return toDeliveryResponse(done), nil
}

// replayRequest is the body of POST …/subscriptions/{subscriptionId}/replay.
type replayRequest struct {
	FromSeq    any     `json:"fromSeq"` // a token, or a content revision
	ToSeq      any     `json:"toSeq"`
	AfterDate  *string `json:"afterDate"`
	BeforeDate *string `json:"beforeDate"`
}

// ReplaySubscription handles POST …/subscriptions/{subscriptionId}/replay.
func (h *Handlers) ReplaySubscription(r *http.Request) (any, error) {
	sub, err := h.findSubscription(r)
	if err != nil {
		return nil, err
	}
	var in replayRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	span, err := in.span()
	if err != nil {
		return nil, err
	}
	started, err := h.Webhooks.Replay(r.Context(), sub.State, span)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.WithOperation(started, gateway.Accepted(handler.ProcessingResponse{
		Processing: true, Message: "the events are queued: follow the operation by its id", OperationID: started.ID(),
	})), nil
}

// span reads which part of the past is meant.
func (in replayRequest) span() (span subscription.Span, err error) {
	switch {
	case in.FromSeq == nil && in.AfterDate == nil:
		return span, handler.MissingField("fromSeq")
	case in.FromSeq != nil && in.AfterDate != nil:
		return span, handler.RefuseFieldsWith("fromSeq", handler.Text("afterDate", in.AfterDate))
	case in.ToSeq != nil && in.BeforeDate != nil:
		return span, handler.RefuseFieldsWith("toSeq", handler.Text("beforeDate", in.BeforeDate))
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
			return span, handler.RefuseField(f.name, "must be a text or a number")
		}
		if *f.to, err = readPosition(text); err != nil {
			wrong(f.name, "must be a sequence token or a content revision")
		}
	}
	for _, f := range []struct {
		handler.TextField
		to *time.Time
	}{{handler.Text("afterDate", in.AfterDate), &span.After}, {handler.Text("beforeDate", in.BeforeDate), &span.Before}} {
		if f.Value == nil {
			continue
		}
		if *f.to, err = time.Parse(time.RFC3339, *f.Value); err != nil {
			wrong(f.Name, "must be a time such as 2026-01-31T12:00:00Z")
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
