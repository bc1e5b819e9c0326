package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connect reaches the broker: through a pipe when it is ours, else over TCP.
func (s *Store) connect() error {
	options := []nats.Option{
		nats.Name(s.opts.Name), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectJitter(20*time.Millisecond, 50*time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ReconnectHandler(func(*nats.Conn) { s.restarted() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.opts.Log.Warn("broker connection", "err", err)
		}),
	}
	address := nats.DefaultURL
	if s.broker != nil {
		options = append(options, nats.InProcessServer(s.broker), nats.Token(s.broker.token))
	} else {
		address = strings.Join(s.opts.URL, ",")
		options = append(options, s.clientAuth()...)
	}
	nc, err := nats.Connect(address, options...)
	if err != nil {
		return fmt.Errorf("cannot reach the broker at %s (NATS_URL): %w", redacted(s.opts.URL), err)
	}
	s.nc = nc
	if s.mail, err = newMailbox(nc); err != nil {
		return err
	}
	s.js, err = jetstream.New(nc)
	return err
}

func (s *Store) clientAuth() []nats.Option {
	var options []nats.Option
	if s.opts.CredsFile != "" {
		options = append(options, nats.UserCredentials(s.opts.CredsFile))
	}
	if s.opts.TLS != nil {
		options = append(options, nats.Secure(s.opts.TLS))
	}
	return append(options, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil {
			s.opts.Log.Warn("broker connection lost, reconnecting", "err", err)
		}
	}))
}

// redacted lists broker addresses without their credentials.
func redacted(addresses []string) string {
	if len(addresses) == 0 {
		return "its own pipe"
	}
	shown := make([]string, len(addresses))
	for i, a := range addresses {
		shown[i] = a
		if u, err := url.Parse(a); err == nil {
			shown[i] = u.Redacted()
		}
	}
	return strings.Join(shown, ", ")
}

// restarted tells readers that their consumers are gone.
func (s *Store) restarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.epoch)
	s.epoch = make(chan struct{})
}

// Epoch returns a channel that is closed when the broker is reconnected.
func (s *Store) epochEnded() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.epoch
}

// warnUnlessSynced asks an external broker whether it fsyncs before it
// acknowledges, which only an account with system rights is told, and says so
// loudly when that could not be confirmed.
func (s *Store) warnUnlessSynced(ctx context.Context) {
	err := s.askSynced(ctx)
	if err != nil {
		s.opts.Log.Warn("the external broker did not confirm that it syncs before it acknowledges; "+
			"set `sync_interval: always` in the jetstream block of every server, or a power cut may lose acknowledged events",
			"reason", err.Error(), "replicas", s.opts.Replicas)
	}
}

func (s *Store) askSynced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m, err := s.nc.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.JSZ", nil)
	if err != nil {
		return errors.New("this account may not ask for server settings")
	}
	var answer struct {
		Data struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if !answer.Data.Config.SyncAlways {
		return errors.New("its sync_interval is not `always`")
	}
	return nil
}
