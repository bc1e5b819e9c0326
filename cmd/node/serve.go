package node

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Serve answers requests until ctx ends; then it stops accepting, lets running
// requests finish within the grace period, and closes everything.
func (n *Node) Serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(n.listener) }()
	n.work("import at start", n.importAtStart)
	n.work("pace of collections", paceCollections)
	n.log.Info("serving", "address", n.Addr().String(), "api", n.config().HTTP.APIURL, "version", n.opts.Version)

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- http.ErrServerClosed
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config().Core.ShutdownGrace)
	defer cancel()
	n.log.Info("stopping", "graceSeconds", n.config().Core.ShutdownGrace.Seconds())
	err = errors.Join(err, n.shutdown(grace))
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	n.log.Info("stopped")
	return err
}

// shutdown stops accepting, drains, flushes and closes, in that order.
func (n *Node) shutdown(grace context.Context) error {
	err := n.drain(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		n.log.Warn("requests were still running at the end of the grace period and are cut off")
		err = n.server.Close()
	}
	// The log must be closed cleanly even when requests used the grace up.
	closing, cancel := context.WithTimeout(context.WithoutCancel(grace), 10*time.Second)
	defer cancel()
	return errors.Join(err, n.Close(closing))
}

// drain lets running requests finish. The server is asked again and again: it tells only
// those connections that are over HTTP/2 already that it stops, and one whose handshake
// ends later would stay, idle, until the end of the grace period.
func (n *Node) drain(grace context.Context) error {
	for {
		round, cancel := context.WithTimeout(grace, drainRound)
		err := n.server.Shutdown(round)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || grace.Err() != nil {
			return err
		}
	}
}

const drainRound = time.Second
