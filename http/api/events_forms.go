package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"svc/http/gateway"
	"svc/streams/feed"
)

// cloud is an event in the form of CloudEvents 1.0. Attributes of ours are small
// letters, as it asks for.
type cloud struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Seq             string          `json:"svcseq"`
	CorrelationID   string          `json:"svccorrelationid,omitempty"`
	UserID          string          `json:"svcuserid,omitempty"`
	SessionID       string          `json:"svcsessionid,omitempty"`
	Automation      string          `json:"svcautomation,omitempty"`
	Data            json.RawMessage `json:"data"`
}

func cloudOf(e *feed.Event) cloud {
	return cloud{
		SpecVersion: "1.0", ID: e.ID, Source: "/v2/workspaces/" + url.PathEscape(e.Source.WorkspaceID), Type: e.Type, Time: e.CreatedAt(),
		DataContentType: "application/json", Seq: e.Seq.Token(), CorrelationID: e.Source.CorrelationID, UserID: e.Source.UserID,
		SessionID: e.Source.SessionID, Automation: e.Source.AutomationSlug, Data: e.Payload,
	}
}

// cloudPage is a page as a batch of CloudEvents.
func cloudPage(page eventsPage) (gateway.Content, error) {
	batch := make([]cloud, len(page.Events))
	for i, e := range page.Events {
		batch[i] = cloudOf(e)
	}
	return cloudBody(cloudBatch, batch)
}

func cloudBody(media string, body any) (gateway.Content, error) {
	encoded, err := json.Marshal(body)
	return gateway.Content{Type: media + "; charset=utf-8", Body: encoded, Header: http.Header{}}, err
}

// exportEvents sends all events of a range, one in a line.
func exportEvents(d Deps, rng feed.Range) gateway.Stream {
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set("Content-Type", jsonLines+"; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Disposition", `attachment; filename="events.ndjson"`)
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusOK)
			return nil, nil
		}
		rights := gateway.GrantFrom(r.Context()).Rights
		x := &export{w: w, r: r, may: readable(rights), checked: d.Now()}
		rng.Filter = hinted(rng.Filter, rights)
		if err := d.Feed.Walk(r.Context(), rng, func(e *feed.Event) (bool, error) { return x.line(d, e) }); err != nil {
			if x.begun {
				panic(http.ErrAbortHandler) // a short answer must not look whole
			}
			return nil, err
		}
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}}
}

// export is a range on its way out.
type export struct {
	w       http.ResponseWriter
	r       *http.Request
	may     func(*feed.Event) bool
	checked time.Time
	begun   bool
}

// line sends an event that the caller may read, as long as they may.
func (x *export) line(d Deps, e *feed.Event) (more bool, err error) {
	if now := d.Now(); now.Sub(x.checked) > rightsPeriod {
		_, grant, err := gateway.Recheck(x.r)
		if err != nil {
			return false, err
		}
		x.may, x.checked = readable(grant.Rights), now
	}
	if !x.may(e) {
		return true, nil
	}
	x.begun = true
	line := append(append(make([]byte, 0, len(e.JSON())+1), e.JSON()...), '\n')
	_, err = x.w.Write(line)
	return err == nil, err
}
