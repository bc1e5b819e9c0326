package gateway

import "context"

// RateLimits returns the table of limits.
func RateLimits() []RateLimit { return rateLimits }

// WithCaller returns a context in which CallerFrom returns c: for tests of handlers without a
// gateway.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return withExchange(ctx, &exchange{caller: c})
}
