package api

import (
	"net/http"
	"time"

	"svc/domain"
	"svc/http/gateway"
	"svc/projections"
)

// mayGetUsage is the right to see how much a workspace is used.
var mayGetUsage = gateway.Action{Action: "get_usage", Subject: "workspaces"}

// usage is how much a workspace was used.
type usage struct {
	WorkspaceID string                 `json:"workspaceId"`
	AfterDate   string                 `json:"afterDate"`
	BeforeDate  string                 `json:"beforeDate"`
	Interval    string                 `json:"interval,omitempty"`
	Total       projections.UsageTotal `json:"total"`
	Timeseries  []usageOf              `json:"timeseries,omitempty"`
	Apps        []projections.AppUsage `json:"apps"`
}

// usageOf is that of one day or month.
type usageOf struct {
	Date  string                 `json:"date"`
	Total projections.UsageTotal `json:"total"`
	Apps  []projections.AppUsage `json:"apps,omitempty"` // with details
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

// getUsage handles GET …/usage.
func getUsage(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q, err := readUsageQuery(gateway.NewQuery(r))
		if err != nil {
			return nil, err
		}
		answer := usage{
			WorkspaceID: workspaceID(r), Interval: q.interval,
			AfterDate: q.after.Format(domain.Timestamp), BeforeDate: q.before.Format(domain.Timestamp),
		}
		err = d.ReadModel.View(func(rd projections.Reader) error {
			if answer.Total, answer.Apps, err = q.sum(rd, answer.WorkspaceID, q.after, q.before); err != nil {
				return err
			}
			answer.Timeseries, err = q.series(rd, answer.WorkspaceID)
			return err
		})
		return answer, err
	}
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
		return u, badParameter("beforeDate", "must be later than afterDate")
	}
	n := 0
	for start := u.start(); u.interval != "" && start.Before(u.before); start = u.next(start) {
		if n++; n > maxIntervals {
			return u, badParameter("interval", "makes too many parts of so long a time")
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
func (u usageQuery) sum(rd projections.Reader, workspaceID string, from, to time.Time) (projections.UsageTotal, []projections.AppUsage, error) {
	total, apps, err := projections.Usage{}.Sum(rd, workspaceID, from, to)
	for i := range apps {
		if !u.details {
			apps[i].Instances = nil
		}
	}
	return total, apps, err
}

// series returns the usage of each interval, also of those without any.
func (u usageQuery) series(rd projections.Reader, workspaceID string) (list []usageOf, err error) {
	if u.interval == "" {
		return nil, nil
	}
	for start := u.start(); start.Before(u.before); start = u.next(start) {
		of := usageOf{Date: start.Format(domain.Timestamp)}
		from, to := start, u.next(start)
		if from.Before(u.after) {
			from = u.after
		}
		if to.After(u.before) {
			to = u.before
		}
		if of.Total, of.Apps, err = u.sum(rd, workspaceID, from, to); err != nil {
			return nil, err
		}
		if !u.details {
			of.Apps = nil
		}
		list = append(list, of)
	}
	return list, nil
}
