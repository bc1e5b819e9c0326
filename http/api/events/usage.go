package events

import (
	"net/http"
	"time"

	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// usageResponse is how much a workspace was used.
type usageResponse struct {
	WorkspaceID string                      `json:"workspaceId"`
	AfterDate   string                      `json:"afterDate"`
	BeforeDate  string                      `json:"beforeDate"`
	Interval    string                      `json:"interval,omitempty"`
	Total       usageTotal                  `json:"total"`
	Timeseries  []usageInterval             `json:"timeseries,omitempty"`
	Apps        []projections.AppUsage      `json:"apps"`
	Knowledge   *projections.KnowledgeUsage `json:"knowledge,omitempty"` // with details
}

// usageTotal is the whole usage.
type usageTotal struct {
	projections.UsageTotal
	Custom map[string]float64 `json:"custom,omitempty"` // metrics of the platform
}

// usageInterval is that of one day or month.
type usageInterval struct {
	Date   string                 `json:"date"`
	Total  projections.UsageTotal `json:"total"`
	Custom map[string]float64     `json:"custom,omitempty"`
	Apps   []projections.AppUsage `json:"apps,omitempty"` // with details
}

// maxIntervals is how many days or months an answer has.
const maxIntervals = 3700

// usageQuery is what is asked for. The first moment counts, the last does not: whole
// days are what most ask for.
type usageQuery struct {
	after, before time.Time
	interval      string
	details       bool
}

// GetUsage handles GET …/usage.
func (h *Handlers) GetUsage(r *http.Request) (any, error) {
	q, err := readUsageQuery(gateway.NewQuery(r))
	if err != nil {
		return nil, err
	}
	answer := usageResponse{
		WorkspaceID: handler.WorkspaceID(r), Interval: q.interval,
		AfterDate: q.after.Format(domain.Timestamp), BeforeDate: q.before.Format(domain.Timestamp),
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	sum, err := q.sum(rd, answer.WorkspaceID, q.after, q.before)
	if err != nil {
		return nil, err
	}
	answer.Total, answer.Apps = usageTotal{sum.Total, sum.Custom}, sum.Apps
	if q.details {
		answer.Knowledge = &sum.Knowledge
	}
	answer.Timeseries, err = q.series(rd, answer.WorkspaceID)
	return answer, err
}

func readUsageQuery(q *gateway.Query) (u usageQuery, err error) {
	for _, name := range []string{"afterDate", "beforeDate"} {
		q.Required(name)
	}
	u = usageQuery{after: q.Time("afterDate"), before: q.Time("beforeDate"), interval: q.OneOf("interval", "", "month", "day"), details: q.Flag("details")}
	if err := q.Err(); err != nil {
		return u, err
	}
	if !u.before.After(u.after) {
		return u, handler.RefuseParameter("beforeDate", "must be later than afterDate")
	}
	n := 0
	for start := u.start(); u.interval != "" && start.Before(u.before); start = u.next(start) {
		if n++; n > maxIntervals {
			return u, handler.RefuseParameter("interval", "makes too many parts of so long a time")
		}
	}
	return u, nil
}

// start is the beginning of the first interval.
func (u usageQuery) start() time.Time {
	day := u.after.Day()
	if u.interval == "month" {
		day = 1
	}
	return time.Date(u.after.Year(), u.after.Month(), day, 0, 0, 0, 0, time.UTC)
}

func (u usageQuery) next(start time.Time) time.Time {
	if u.interval == "month" {
		return start.AddDate(0, 1, 0)
	}
	return start.AddDate(0, 0, 1)
}

// sum returns the usage between two times; instances of apps are details.
func (u usageQuery) sum(rd projections.Reader, workspaceID string, from, to time.Time) (projections.UsageSum, error) {
	sum, err := projections.Usage{}.Sum(rd, workspaceID, from, to)
	for i := range sum.Apps {
		if !u.details {
			sum.Apps[i].Instances = nil
		}
	}
	return sum, err
}

// series returns the usage of each interval, also of those without any.
func (u usageQuery) series(rd projections.Reader, workspaceID string) (list []usageInterval, err error) {
	if u.interval == "" {
		return nil, nil
	}
	for start := u.start(); start.Before(u.before); start = u.next(start) {
		of := usageInterval{Date: start.Format(domain.Timestamp)}
		from, to := start, u.next(start)
		if from.Before(u.after) {
			from = u.after
		}
		if to.After(u.before) {
			to = u.before
		}
		sum, err := u.sum(rd, workspaceID, from, to)
		if err != nil {
			return nil, err
		}
		if of.Total, of.Custom = sum.Total, sum.Custom; u.details {
			of.Apps = sum.Apps
		}
		list = append(list, of)
	}
	return list, nil
}
