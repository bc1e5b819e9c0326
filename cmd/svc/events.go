package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/cmd/settings"
	"svc/domain"
)

func eventsCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "events", Short: "Watch what happens, and emit events",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(tailCommand(w), emitCommand.command(w))
	return c
}

// tail is how `svc events tail` is asked.
type tail struct {
	remote
	in      string // "": all workspaces that one may read
	types   []string
	from    string
	filters []string
	limit   int
}

func tailCommand(w environment) *cobra.Command {
	t := &tail{remote: remote{environment: w}}
	c := t.command(&cobra.Command{
		Use: "tail", Short: "Print events as they happen",
		Long: "Print the events of a workspace, or of all that one may read, as they happen: a line each. A connection that breaks is opened\n" +
			"again after the last event that arrived, without a gap or a repetition. Ctrl-C ends it.",
		Args: noArguments,
	}, t.run)
	c.Flags().StringVar(&t.in, "workspace", "", "whose events, by its id or slug; platform for what concerns all (default: all that one may read)")
	c.Flags().StringSliceVar(&t.types, "type", nil, "event types, such as 'workspaces.*'; may be repeated, or a comma list (default: all)")
	c.Flags().StringVar(&t.from, "from", "now", "where to begin: now, a time ago such as 1h, a time, or the seq of an event, after which to go on")
	c.Flags().StringArrayVar(&t.filters, "filter", nil, "path=value that an event must have, such as source.userId=u1 or payload.slug=shop*; may be repeated")
	c.Flags().IntVar(&t.limit, "limit", 0, "end after so many events (default: never)")
	return c
}

func (t *tail) run(ctx context.Context, _ []string) error {
	query, err := t.query()
	if err != nil {
		return err
	}
	feed := "/events"
	if t.in != "" {
		if t.workspace, err = t.Workspace(ctx, t.in); err != nil {
			return err
		}
		feed = t.path(feed)
	}
	if err := t.begin(ctx, feed, query); err != nil {
		return err
	}
	printed := 0
	var failed error
	err = t.Tail(ctx, feed+"/stream?"+query.Encode(), func(f client.Frame) bool {
		printed++
		failed = t.print(f)
		return failed == nil && printed != t.limit
	})
	return cmp.Or(failed, err)
}

// query is what the events must have.
func (t *tail) query() (url.Values, error) {
	query := url.Values{}
	if len(t.types) > 0 {
		query.Set("types", strings.Join(t.types, ","))
	}
	for _, filter := range t.filters {
		path, value, ok := strings.Cut(filter, "=")
		if !ok || !strings.Contains(path, ".") && !slices.Contains([]string{"text", "appInstanceDepth"}, path) {
			return nil, fmt.Errorf("%w: --filter is a dotted path of an event and what is there: source.userId=u1", errUsage)
		}
		query.Add(path, value)
	}
	if t.limit < 0 {
		return nil, fmt.Errorf("%w: --limit is a number of events", errUsage)
	}
	return query, nil
}

// begin says where the stream begins, as a position: a connection that breaks before
// the first event goes on from there.
func (t *tail) begin(ctx context.Context, feed string, query url.Values) error {
	if _, err := domain.ParsePosition(t.from); err == nil {
		query.Set("fromSeq", t.from)
		return nil
	}
	newest := url.Values{"limit": {"1"}, "appInstanceDepth": {"-1"}}
	if t.from == "now" && t.in == "" {
		return nil // no event tells a position in all workspaces
	}
	if t.from != "now" {
		since, ok := fromNow(t.from, -1)
		if !ok {
			return fmt.Errorf("%w: --from is now, a time ago such as 1h, a time such as 2026-01-31T12:00:00Z, or the seq of an event", errUsage)
		}
		query.Set("afterDate", domain.FormatTime(since.Add(-time.Millisecond)))
		newest.Set("beforeDate", domain.FormatTime(since))
	}
	var page struct {
		Result struct {
			Events []struct {
				Seq string `json:"seq"`
			} `json:"events"`
		} `json:"result"`
	}
	query.Set("fromSeq", domain.Position{}.Token())
	if t.in == "" {
		return nil
	}
	if err := t.Get(ctx, feed+"?"+newest.Encode(), &page); err != nil {
		return err
	}
	for _, ev := range page.Result.Events {
		query.Set("fromSeq", ev.Seq)
	}
	return nil
}

// fromNow reads a time: one from now, in the direction of sign, or one of the calendar.
func fromNow(text string, sign time.Duration) (time.Time, bool) {
	if span, err := settings.ParseDuration(text); err == nil {
		return time.Now().Add(sign * span), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// maxOutputLine is how many characters of a payload a line shows.
const maxOutputLine = 160

// print prints an event: as it came, or a line that tells of it.
func (t *tail) print(f client.Frame) error {
	if t.asJSON {
		_, err := fmt.Fprintln(t.out, string(f.Data))
		return err
	}
	var ev struct {
		CreatedAt, Type string
		Source          struct {
			WorkspaceID, UserID, AutomationSlug string
			Host                                struct{ Service string }
		}
		Payload json.RawMessage
	}
	if err := decode(f.Data, &ev); err != nil {
		return err
	}
	words := []string{ev.CreatedAt, ev.Type, "by " + cmp.Or(ev.Source.UserID, ev.Source.AutomationSlug, ev.Source.Host.Service, "nobody"), beginning(string(ev.Payload))}
	if t.in == "" {
		words = slices.Insert(words, 1, ev.Source.WorkspaceID)
	}
	_, err := fmt.Fprintln(t.out, clean(strings.Join(words, "  ")))
	return err
}

// beginning is what a line shows of a text.
func beginning(text string) string {
	if runes := []rune(text); len(runes) > maxOutputLine {
		return string(runes[:maxOutputLine]) + "…"
	}
	return text
}
