package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"
	"time"

	"svc/domain"
	"svc/http/gateway"
)

// ServeProfiles serves the profiles of the process at an address, apart from the API and to
// this machine only: they show what requests do, and a trace takes time. A caller needs the
// internal key. Close must be called at the end.
func ServeProfiles(address string, internalKey func() string, log *slog.Logger) (at net.Addr, closeServer func() error, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen on %s (PPROF_ADDR): %w", address, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, nil, errors.Join(fmt.Errorf("PPROF_ADDR: %s is an address of other machines, too; use 127.0.0.1 or [::1]", address), l.Close())
	}
	runtime.MemProfileRate = memoryPerSample
	server := &http.Server{Handler: profileHandler(internalKey), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the server of profiles failed", "err", err)
		}
	}()
	log.Info("serving profiles", "address", l.Addr().String(), "path", profilesPath)
	return l.Addr(), func() error {
		err := server.Close()
		<-done
		return err
	}, nil
}

const profilesPath = "/debug/pprof/"

// memoryPerSample is how many bytes are allocated for each sample of the heap profile, on average: Go's default. Until
// somebody asks for profiles, main takes no samples: they need a megabyte of memory.
const memoryPerSample = 512 << 10

func profileHandler(internalKey func() string) http.Handler {
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
		if !gateway.SameSecret(given, internalKey()) {
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
