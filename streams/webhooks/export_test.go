package webhooks

import "svc/domain/feed"

// Before has look called with each event before a subscription is asked whether it wants it.
func (o *Options) Before(fall func(subscriptionID string, e *feed.Event)) {
	o.matches = func(filter *feed.Filter, subscriptionID string, e *feed.Event) bool {
		fall(subscriptionID, e)
		return matches(filter, subscriptionID, e)
	}
}
