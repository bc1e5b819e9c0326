package sessions

import "context"

// note queues a session whose LastSeenAt is old. When the queue is full it is
// left for another request.
func (s *Sessions) note(found kept) {
	if s.o.Now().Sub(found.LastSeenAt) < seenEvery {
		return
	}
	found.LastSeenAt = s.o.Now().UTC()
	if !found.MFAPending {
		s.cache.Set(key(found.UserID, found.ID), found) // so that it is queued once
	}
	select {
	case s.seen <- found:
	default:
	}
}

// Run writes down when sessions were last seen, until ctx ends. A session that
// changed or ended meanwhile is left as it is.
func (s *Sessions) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case found := <-s.seen:
			writing, cancel := context.WithTimeout(ctx, touchLimit)
			_ = s.put(writing, found) // it is only a time: the next request tries again
			cancel()
		}
	}
}
