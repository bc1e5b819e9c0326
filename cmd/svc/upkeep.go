package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/projections"
)

func rebuildCommand(w environment) *cobra.Command {
	var asJSON, searchOnly bool
	var base string
	c := &cobra.Command{
		Use: "rebuild", Short: "Rebuild the read models from the log, or the search index from documents",
		Long: "Rebuild the read models from the log. A running service is asked to do it and goes on serving;\nelse the data directory is opened here. With --search, only the search index of knowledge bases\nis rebuilt, from stored texts: nothing is loaded or extracted again.",
		RunE: func(c *cobra.Command, _ []string) error {
			if searchOnly || base != "" {
				return rebuildSearch(c.Context(), w, base, asJSON)
			}
			var report projections.Report
			err := runMaintenance(c.Context(), w, "/sys/readmodels/rebuild", &report, func(ctx context.Context, u node.Upkeep) (any, error) {
				return u.Models.Rebuild(ctx, progress(w, "rebuilding"))
			})
			if err != nil || asJSON {
				return errors.Join(err, printIf(err == nil, w, report))
			}
			_, err = fmt.Fprintf(w.out, "rebuilt in %s: generation %d serves, at STATE %d and ACTIVITY %d\n",
				report.Duration, report.Generation, report.Position.State, report.Position.Activity)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&searchOnly, "search", false, "rebuild only the search index")
	c.Flags().StringVar(&base, "base", "", "rebuild only the search index of knowledge bases with this slug or id")
	return c
}

// rebuildSearch rebuilds the search index of all bases, or of those with a slug or an id.
func rebuildSearch(ctx context.Context, w environment, base string, asJSON bool) error {
	var report projections.SearchReport
	path := "/sys/search/rebuild?base=" + url.QueryEscape(base)
	err := runMaintenance(ctx, w, path, &report, func(ctx context.Context, u node.Upkeep) (any, error) { return u.Search.Rebuild(ctx, base) })
	if err != nil || asJSON {
		return errors.Join(err, printIf(err == nil, w, report))
	}
	_, err = fmt.Fprintf(w.out, "rebuilt in %s: %d bases, %d documents, %d passages\n", report.Duration, report.Bases, report.Documents, report.Chunks)
	return err
}

func printIf(ok bool, w environment, v any) error {
	if !ok {
		return nil
	}
	return writeJSON(w, v)
}

func verifyCommand(w environment) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "verify", Short: "Check the log, and the read models against it",
		Long: "Rebuild the read models beside the live ones, compare both, and check that the state log is complete.\nExit status 1 when something is wrong.",
		RunE: func(c *cobra.Command, _ []string) error {
			var report projections.VerifyReport
			err := runMaintenance(c.Context(), w, "/sys/readmodels/verify", &report, func(ctx context.Context, u node.Upkeep) (any, error) {
				got, err := u.Models.Verify(ctx, progress(w, "verifying"))
				if err == nil {
					err = got.AddSearch(ctx, u.Search)
				}
				return got, err
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(w, report)
			} else {
				err = printVerified(w.out, report)
			}
			if err == nil && !report.OK {
				err = errors.New("the verification found faults")
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printVerified(out io.Writer, r projections.VerifyReport) error {
	var b strings.Builder
	for _, l := range r.Logs {
		fmt.Fprintf(&b, "log %-9s %d events, %d to %d, %d gaps\n", l.Log, l.Messages, l.First, l.Last, len(l.Gaps))
		for _, g := range l.Gaps {
			fmt.Fprintf(&b, "    missing: %d to %d\n", g.From, g.To)
		}
	}
	for _, p := range r.Projections {
		verdict := "equal"
		if !p.Equal {
			verdict = "DIFFERENT, first at " + p.FirstDiff
		}
		fmt.Fprintf(&b, "read model %-16s %d keys, %s\n", p.Name, p.Keys, verdict)
	}
	if r.Fault != nil {
		fmt.Fprintf(&b, "fault: %s\n", r.Fault)
	}
	fmt.Fprintf(&b, "%s in %s\n", map[bool]string{true: "ok", false: "NOT OK"}[r.OK], r.Duration)
	_, err := io.WriteString(out, b.String())
	return err
}

// progress prints how far a long run has come, now and then.
func progress(w environment, what string) projections.Progress {
	last := time.Now()
	return func(done, total uint64) {
		if total == 0 || time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w.log, "%s: %d of %d events (%d %%)\n", what, done, total, done*100/total)
	}
}

// runMaintenance runs do on the data directory, or asks the service that holds it.
func runMaintenance(ctx context.Context, w environment, path string, into any, do func(context.Context, node.Upkeep) (any, error)) error {
	loaded, err := settings.Load(w.source)
	if err != nil {
		return err
	}
	log := process.NewLog(w.log, loaded.Config.Obs.LogFormat, loaded.Config.Obs.LogLevel)
	out, err := node.Offline(ctx, loaded, log, do)
	if errors.Is(err, process.ErrDirInUse) {
		return askService(ctx, loaded, path, http.NoBody, into)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// askService has the running service do it, with the internal key.
func askService(ctx context.Context, loaded *settings.Loaded, path string, body io.Reader, into any) error {
	key, err := node.InternalKey(loaded)
	if err != nil {
		return err
	}
	address := strings.TrimSuffix(loaded.Config.HTTP.InternalAPIURL, "/v2") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return err
	}
	req.Header.Set("x-svc-api-key", key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := process.Client(loaded.Config.HTTP).Do(req)
	if err != nil {
		return fmt.Errorf("the service that holds the data directory does not answer at INTERNAL_API_URL: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", filepath.Base(path), resp.Status, bytes.TrimSpace(answer))
	}
	return json.Unmarshal(answer, into)
}

func healthcheckCommand(w environment) *cobra.Command {
	var live bool
	c := &cobra.Command{
		Use: "healthcheck", Short: "Ask the service on this machine whether it serves",
		Long: "Ask the service on this machine whether it is ready: exit status 0 or 1. For probes of containers.\nWhen it is not, the reason is printed, for example which read models are being built, and how long that takes.",
		RunE: func(c *cobra.Command, _ []string) error {
			loaded, err := settings.Load(w.source)
			if err != nil {
				return err
			}
			if live {
				return probe(c.Context(), w, loaded.Config.HTTP, "/healthz")
			}
			if err = probe(c.Context(), w, loaded.Config.HTTP, "/readyz"); err != nil {
				err = fmt.Errorf("%w%s", err, whyNotReady(c.Context(), loaded))
			}
			return err
		},
	}
	c.Flags().BoolVar(&live, "live", false, "only ask whether the process is alive")
	return c
}

// whyNotReady returns what the report of readiness tells of the gateway and the read models, if the service answers with one.
func whyNotReady(ctx context.Context, loaded *settings.Loaded) (why string) {
	key := loaded.Config.Core.InternalAPIKey.Reveal()
	if key == "" {
		text, _ := os.ReadFile(settings.InternalKeyFile(loaded.Config.Core.DataDir)) // without it, the report is refused
		key = string(bytes.TrimSpace(text))
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, loaded.Config.HTTP.InternalAPIURL+"/readiness?services=api-gateway", http.NoBody)
	if err != nil {
		return ""
	}
	req.Header.Set("x-svc-api-key", key)
	resp, err := process.Client(loaded.Config.HTTP).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var report struct {
		Services map[string]struct {
			Errors []struct{ Module, Message string }
		}
	}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&report) // another answer tells nothing
	for _, e := range report.Services["api-gateway"].Errors {
		why += "; " + e.Module + ": " + e.Message
	}
	return why
}

func probe(ctx context.Context, w environment, h settings.HTTP, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	address := strings.TrimSuffix(h.InternalAPIURL, "/v2") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := process.Client(h).Do(req)
	if err != nil {
		return fmt.Errorf("not healthy: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("not healthy: %s: %s", resp.Status, bytes.TrimSpace(body)))
	}
	_, err = fmt.Fprintln(w.out, string(bytes.TrimSpace(body)))
	return err
}
