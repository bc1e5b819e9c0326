package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/domain/activity"
)

// logs is how `svc logs` is asked.
type logs struct {
	remote
	automation string
	follow     bool
	limit      int
}

func logsCommand(w environment) *cobra.Command {
	l := &logs{remote: remote{environment: w}}
	c := l.command(&cobra.Command{
		Use: "logs WORKSPACE", Short: "Print the last executions of automations with their logs and errors, and follow them",
		Long: "Print the last executions of automations, with what they logged and how they failed. With -f it goes on until Ctrl-C, without a gap\nwhen the connection breaks.",
		Args: requireArguments(theWorkspace),
	}, l.run)
	c.Flags().StringVar(&l.automation, "automation", "", "only this one, by its slug")
	c.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on with those that end from now on")
	c.Flags().IntVar(&l.limit, "limit", 20, "how many of the past, at most 100")
	return c
}

func (l *logs) run(ctx context.Context, _ []string) error {
	if l.limit < 0 || l.limit > 100 {
		return fmt.Errorf("%w: --limit is a number from 0 to 100", errUsage)
	}
	query := url.Values{"types": {activity.Executed{}.EventType()}}
	if l.automation != "" {
		query.Set("payload.slug", l.automation)
	}
	var page struct {
		Result struct {
			Events []rawEvent `json:"events"`
		} `json:"result"`
	}
	stream := maps.Clone(query)
	if err := (&tail{remote: l.remote, in: l.workspace, from: "now"}).begin(ctx, l.path("/events"), stream); err != nil {
		return err
	}
	if l.limit > 0 {
		query.Set("limit", strconv.Itoa(l.limit))
		if err := l.Get(ctx, l.path("/events?"+query.Encode()), &page); err != nil {
			return err
		}
	}
	for _, ev := range slices.Backward(page.Result.Events) {
		l.show(ev.text)
		stream.Set("fromSeq", ev.Seq) // the newest comes last, and the stream goes on after it
	}
	if !l.follow {
		return nil
	}
	return l.Tail(ctx, l.path("/events/stream?"+stream.Encode()), func(f client.Frame) bool {
		l.show(f.Data)
		return true
	})
}

// rawEvent is an event as it came, and where it is.
type rawEvent struct {
	Seq  string
	text []byte
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *rawEvent) UnmarshalJSON(text []byte) error {
	var at struct{ Seq string }
	err := decode(text, &at)
	e.Seq, e.text = at.Seq, slices.Clone(text)
	return err
}

// show prints an execution.
func (l *logs) show(data []byte) {
	if line, ok := runLine(data); ok {
		l.printLine(line)
	}
}
