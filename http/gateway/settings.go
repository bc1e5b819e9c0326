package gateway

import (
	"cmp"
	"net/netip"
	"time"
)

// Settings are the live values of a Gateway: it asks for them once per request.
// The zero value of every field stands for the contract's default.
type Settings struct {
	RequestTimeout time.Duration // GATEWAY_REQUEST_TIMEOUT_SECONDS; default 60s
	WriteGrace     time.Duration // how long a write may go on after that; default RequestTimeout

	RequestMaxSize int64 // REQUEST_MAX_SIZE in bytes; default 1 MB
	UploadsMaxSize int64 // UPLOADS_MAX_SIZE in bytes per file; default 10 MB
	ImportMaxSize  int64 // IMPORT_MAX_SIZE in bytes; default 50 MB

	RateLimits       map[RateClass]int64 // per minute; missing: the table's, 0: off
	DisableRateLimit bool                // DISABLE_RATE_LIMIT
	MaxConcurrent    int                 // MAX_CONCURRENT_REQUESTS per caller; default 200
	MaxLive          int                 // live connections per caller; default 50

	// Origins may call with credentials: patterns such as https://example.com
	// and https://*.example.com. The slice must not change once returned.
	Origins        []string
	TrustedProxies []netip.Prefix // TRUSTED_PROXIES
	InternalKey    string         // INTERNAL_API_KEY; empty: no request has it
	HealthLogs     bool           // ENABLE_HEALTHCHECK_LOGS
}

const megabyte = 1 << 20

func (s Settings) withDefaults() Settings {
	s.RequestTimeout = cmp.Or(s.RequestTimeout, time.Minute)
	s.WriteGrace = cmp.Or(s.WriteGrace, s.RequestTimeout)
	s.RequestMaxSize = cmp.Or(s.RequestMaxSize, megabyte)
	s.UploadsMaxSize = cmp.Or(s.UploadsMaxSize, 10*megabyte)
	s.ImportMaxSize = cmp.Or(s.ImportMaxSize, 50*megabyte)
	s.MaxConcurrent = cmp.Or(s.MaxConcurrent, 200)
	s.MaxLive = cmp.Or(s.MaxLive, 50)
	return s
}
