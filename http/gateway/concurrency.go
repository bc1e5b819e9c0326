package gateway

import (
	"net/http"
	"sync"
	"sync/atomic"

	"svc/domain"
)

// occupancy counts what each caller has in flight.
type occupancy struct {
	mu    sync.Mutex
	holds map[string]int
}

// enter takes a place for key, or reports that all are taken.
func (o *occupancy) enter(key string, most int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds[key] >= most {
		return false
	}
	if o.holds == nil {
		o.holds = map[string]int{}
	}
	o.holds[key]++
	return true
}

func (o *occupancy) leave(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds[key]--; o.holds[key] <= 0 {
		delete(o.holds, key)
	}
}

// slot is a place that may have two holders: the request, and a handler that
// goes on after it. The last to let go frees it.
type slot struct {
	holders atomic.Int32
	free    func()
}

func (s *slot) keep() {
	if s != nil {
		s.holders.Add(1)
	}
}

func (s *slot) drop() {
	if s != nil && s.holders.Add(-1) == 0 {
		s.free()
	}
}

// occupy is the step that bounds how much one caller has in flight.
func (g *Gateway) occupy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := exchangeOf(r)
		if ex.unlimited() {
			next.ServeHTTP(w, r)
			return
		}
		places, most := &g.inFlight, ex.settings.MaxConcurrent
		if ex.route.Streaming {
			places, most = &g.live, ex.settings.MaxLive
		}
		key := ex.callerKey()
		if !places.enter(key, most) {
			g.refuse(w, r, crowded(most))
			return
		}
		ex.slot = &slot{free: func() { places.leave(key) }}
		ex.slot.keep()
		defer ex.slot.drop()
		next.ServeHTTP(w, r)
	})
}

func crowded(most int) error {
	return domain.Refuse(domain.CodeConcurrency, "more than %d at once", most).
		With("limit", most).With("retryAfter", 1)
}
