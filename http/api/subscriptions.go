package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/commands/operations"
	"svc/commands/subscriptions"
	"svc/domain"
	"svc/domain/subscription"
	"svc/http/gateway"
	"svc/projections"
)

// SubscriptionsDeps are what subscriptions ask for.
type SubscriptionsDeps struct {
	Commands *subscriptions.Subscriptions
	Webhooks Webhooks
}

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

// subscriptionPatch is the body of PATCH …/subscriptions/{id}.
type subscriptionPatch struct {
	URL         change[string]         `json:"url"`
	Types       change[[]string]       `json:"types"`
	Filters     change[map[string]any] `json:"filters"`
	OrderKey    change[string]         `json:"orderKey"`
	Description change[string]         `json:"description"`
	Disabled    change[bool]           `json:"disabled"`
}

// subscriptionBody is the body of POST …/subscriptions.
type subscriptionBody struct {
	subscriptionPatch
	Secret *string `json:"secret"`
}

// shownSubscription is a subscription as it is answered.
type shownSubscription struct {
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
func (s shownSubscription) Replayable() any {
	s.Secret = ""
	return s
}

// listSubscriptions handles GET …/subscriptions.
func listSubscriptions(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page := q.Page(20, 100)
		if err := q.Err(); err != nil {
			return nil, err
		}
		var shown []shownSubscription
		err := d.ReadModel.View(func(rd projections.Reader) error {
			list, err := projections.Subscriptions{}.Of(rd, workspaceID(r))
			for _, rec := range list {
				one, err := showSubscription(rd, rec)
				if err != nil {
					return err
				}
				shown = append(shown, one)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(shown, func(a, b shownSubscription) int { return strings.Compare(b.UpdatedAt, a.UpdatedAt) })
		return gateway.ListOf(r, shown, page), nil
	}
}

// createSubscription handles POST …/subscriptions.
func createSubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in subscriptionBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		switch {
		case in.URL.value == nil:
			return nil, missing("url")
		case in.Types.value == nil:
			return nil, missing("types")
		}
		secret, err := givenSecret(in.Secret)
		if err != nil {
			return nil, err
		}
		made, secret, err := d.Subscriptions.Commands.Create(r.Context(), workspaceID(r), in.patch().On(subscription.Terms{}), secret)
		if err != nil {
			return nil, err
		}
		shown, err := subscriptionAfter(d, r, made)
		shown.Secret = secret
		return gateway.Created(shown, strings.TrimRight(r.URL.Path, "/")+"/"+shown.ID), err
	}
}

// givenSecret is the secret of a body; "" when it has none and one is to be made.
func givenSecret(given *string) (string, error) {
	if given == nil {
		return "", nil
	}
	return *given, subscription.CheckSecret(*given)
}

func (p subscriptionPatch) patch() subscription.Patch {
	return subscription.Patch{
		URL: p.URL.orNil(), Types: p.Types.orNil(), Filters: p.Filters.orNil(), OrderKey: p.OrderKey.orNil(),
		Description: p.Description.orNil(), Disabled: p.Disabled.orNil(),
	}
}

// getSubscription handles GET …/subscriptions/{subscriptionId}.
func getSubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var shown shownSubscription
		rec, err := findSubscription(d, r)
		if err == nil {
			err = d.ReadModel.View(func(rd projections.Reader) (err error) {
				shown, err = showSubscription(rd, rec)
				return err
			})
		}
		return shown, err
	}
}

// updateSubscription handles PATCH …/subscriptions/{subscriptionId}.
func updateSubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		rec, err := findSubscription(d, r)
		if err != nil {
			return nil, err
		}
		var in subscriptionPatch
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		done, err := d.Subscriptions.Commands.Change(r.Context(), workspaceID(r), rec.ID, in.patch())
		if err != nil {
			return nil, err
		}
		return subscriptionAfter(d, r, done)
	}
}

// deleteSubscription handles DELETE …/subscriptions/{subscriptionId}.
func deleteSubscription(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		rec, err := findSubscription(d, r)
		if err == nil {
			err = d.Subscriptions.Commands.Delete(r.Context(), workspaceID(r), rec.ID)
		}
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(rec.ID), nil
	}
}

// The overlap of two secrets: how long it usually is, and at most, in seconds.
const (
	usualOverlap = 86400
	maxOverlap   = 30 * 86400
)

// rotateSecret handles POST …/subscriptions/{subscriptionId}/rotateSecret.
func rotateSecret(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		rec, err := findSubscription(d, r)
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
		secret, err := givenSecret(in.Secret)
		if err != nil {
			return nil, err
		}
		done, secret, err := d.Subscriptions.Commands.Rotate(r.Context(), workspaceID(r), rec.ID, secret, time.Duration(overlap)*time.Second)
		if err != nil {
			return nil, err
		}
		shown, err := subscriptionAfter(d, r, done)
		shown.Secret = secret
		return shown, err
	}
}

// findSubscription returns the subscription that the path names.
func findSubscription(d Deps, r *http.Request) (rec projections.SubscriptionRecord, err error) {
	id, ok := gateway.Var(r, "subscriptionId"), false
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		rec, ok, err = projections.Subscriptions{}.Get(rd, workspaceID(r), id)
		return err
	})
	if err == nil && !ok {
		err = domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription").With("id", id)
	}
	return rec, err
}

// subscriptionAfter is the answer to a write: the subscription as a read would show it
// now, or as it was written when a read does not show it yet.
func subscriptionAfter(d Deps, r *http.Request, done subscriptions.Subscription) (shown shownSubscription, err error) {
	settle(r.Context(), d.ReadModel)
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, ok, err := projections.Subscriptions{}.Get(rd, done.State.WorkspaceID, done.State.ID)
		if err != nil {
			return err
		}
		if !ok {
			rec.State = done.State
		}
		shown, err = showSubscription(rd, rec)
		return err
	})
	return shown, err
}

func showSubscription(rd projections.Reader, rec projections.SubscriptionRecord) (shownSubscription, error) {
	record, err := projections.Deliveries{}.Health(rd, rec.ID)
	health := record.Since(rec.ClosedAt)
	shown := shownSubscription{
		ID: rec.ID, URL: rec.URL, Types: rec.Types, Filters: rec.Filters, OrderKey: rec.OrderKey, Description: rec.Description,
		Disabled: rec.Disabled, DisabledReason: rec.Reason, Breaker: "closed", SecretLast4: rec.Keys.Last4,
		LastDeliveryAt: stampOf(health.LastDeliveryAt), FailingSince: stampOf(health.FailingSince),
		CreatedAt: rec.CreatedAt, CreatedBy: rec.CreatedBy, UpdatedAt: rec.UpdatedAt, UpdatedBy: rec.UpdatedBy,
	}
	if health.Broken() {
		shown.Breaker = "open"
	}
	return shown, err
}

// stampOf is a time as answers show it; "" for none.
func stampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(domain.Timestamp)
}
