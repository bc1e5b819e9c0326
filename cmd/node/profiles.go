package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"svc/domain"
	"svc/http/gateway"
)

// openProfiles serves the profiles of the process at PPROF_ADDR, apart from the API and to
// this machine only: they show what a request did, and a trace costs time. Whoever reads
// them has the internal key.
func (n *Node) openProfiles(context.Context) error {
	address := n.config().HTTP.PprofAddr
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (PPROF_ADDR): %w", address, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("PPROF_ADDR: %s is an address of other machines, too; use 127.0.0.1 or [::1]", address), l.Close())
	}
	n.profiles = l.Addr()
	server := &http.Server{Handler: n.profileHandler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("profiles are served no more", "err", err)
		}
	}()
	n.closeWith("profiles", func(context.Context) error {
		err := server.Close()
		<-done
		return err
	})
	n.log.Info("serving profiles", "address", l.Addr().String(), "path", profilesPath)
	return nil
}

const profilesPath = "/debug/pprof/"

func (n *Node) profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(profilesPath, pprof.Index)
	mux.HandleFunc(profilesPath+"cmdline", pprof.Cmdline)
	mux.HandleFunc(profilesPath+"profile", pprof.Profile)
	mux.HandleFunc(profilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc(profilesPath+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("X-Svc-Api-Key")
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && given == "" {
			given = bearer
		}
		if !gateway.SameSecret(given, n.config().Core.InternalAPIKey.Reveal()) {
			refuseProfile(w, given)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func refuseProfile(w http.ResponseWriter, given string) {
	code, message := domain.CodeInvalidCredentials, "this is not the internal API key"
	if given == "" {
		code, message = domain.CodeMissingToken, "send the internal API key (INTERNAL_API_KEY) in the x-svc-api-key header"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": code, "message": message}) // the caller may be gone
}

// Profiles is where the profiles are served; nil: nowhere.
func (n *Node) Profiles() net.Addr { return n.profiles }
