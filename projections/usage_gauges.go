package projections

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"svc/domain"
)

// said is what an app said of itself in one event.
type said struct {
	At       time.Time         `json:"at"`
	App      string            `json:"app"`
	Instance string            `json:"instance"`
	Metrics  map[string]metric `json:"metrics"`
}

type metric struct {
	Value  float64 `json:"value"`
	Action string  `json:"action"` // set or increment
}

// saidBy returns what an event says of the app instance that emitted it: {instance}.usage
// does, and usage. What anybody else emits under such a name says nothing.
func saidBy(ev domain.Recorded) (said, bool) {
	kind, instance := ev.Data.EventType(), ev.Meta.AppInstance
	if _, void := ev.Data.(domain.Void); void || instance == "" || kind != "usage" && kind != instance+".usage" {
		return said{}, false
	}
	s := said{At: ev.At.UTC(), App: cmp.Or(ev.Meta.AppSlug, instance), Instance: instance, Metrics: map[string]metric{}}
	var body struct{ Metrics map[string]json.RawMessage }
	if json.Unmarshal(ev.Body, &body) != nil {
		return said{}, false // an event of this name that is about something else
	}
	for name, text := range body.Metrics {
		var m metric
		if json.Unmarshal(text, &m) == nil && (m.Action == "set" || m.Action == "increment") {
			s.Metrics[name] = m
		}
	}
	return s, len(s.Metrics) > 0
}

// gauge is what a metric comes to: what it was set to last, and what was added since.
type gauge struct {
	Set   *float64 `json:"set,omitempty"`
	Added float64  `json:"added,omitempty"`
}

func (m gauge) value() float64 {
	if m.Set != nil {
		return plus(*m.Set, m.Added)
	}
	return m.Added
}

// plus adds, but for a sum that no number can hold.
func plus(a, b float64) float64 {
	if sum := a + b; !math.IsInf(sum, 0) {
		return sum
	}
	return a
}

// then returns what a metric comes to when another stretch of time follows.
func (m gauge) then(next gauge) gauge {
	if next.Set != nil {
		return next
	}
	m.Added = plus(m.Added, next.Added)
	return m
}

// gauges are the metrics of app instances, by app, instance and name.
type gauges map[string]map[string]map[string]gauge

func (all gauges) then(app, instance, name string, next gauge) {
	if all[app] == nil {
		all[app] = map[string]map[string]gauge{}
	}
	if all[app][instance] == nil {
		all[app][instance] = map[string]gauge{}
	}
	all[app][instance][name] = all[app][instance][name].then(next)
}

func (all gauges) add(s said) {
	for name, m := range s.Metrics {
		next := gauge{Added: m.Value}
		if m.Action == "set" {
			next = gauge{Set: &m.Value}
		}
		all.then(s.App, s.Instance, name, next)
	}
}

func (all gauges) addAll(others gauges) {
	for app, instances := range others {
		for instance, metrics := range instances {
			for name, m := range metrics {
				all.then(app, instance, name, m)
			}
		}
	}
}

// maxGauges bounds what is kept of the metrics of one day, in bytes. A day with more
// of them is read from what each event said.
const maxGauges = 16 << 10

// tooMany is what is kept of such a day.
const tooMany = "null"

// gauge adds what an app said to its day.
func (u Usage) gauge(tx Tx, ev domain.Recorded, s said) error {
	row, err := json.Marshal(s)
	if err != nil {
		return err
	}
	key := scoped('m', ev.Stream.Scope, dayKey(dayOf(ev.At)))
	value, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	if value, err = gauged(value, s); err != nil {
		return err
	}
	if err := tx.Set(key, value); err != nil {
		return err
	}
	return u.keep(tx, ev, 'u', row)
}

// gauged returns what is kept of a day when an app has said something more.
func gauged(value []byte, s said) ([]byte, error) {
	if string(value) == tooMany {
		return value, nil
	}
	day := gauges{}
	if value != nil {
		if err := json.Unmarshal(value, &day); err != nil {
			return nil, err
		}
	}
	day.add(s)
	value, err := json.Marshal(day)
	if len(value) > maxGauges {
		return []byte(tooMany), err
	}
	return value, err
}

// gaugeAgain makes anew what is kept of a day, out of what is left of it: numbers that
// were added cannot be taken away again without a trace.
func (Usage) gaugeAgain(tx Tx, workspaceID string, day uint32) error {
	var value []byte
	err := tx.Iterate(Span{Prefix: scoped('u', workspaceID, dayKey(day))}, func(_, row []byte) (bool, error) {
		var s said
		err := json.Unmarshal(row, &s)
		if err == nil {
			value, err = gauged(value, s)
		}
		return err == nil && string(value) != tooMany, err
	})
	if err != nil {
		return err
	}
	key := scoped('m', workspaceID, dayKey(day))
	if value == nil {
		return tx.Delete(key)
	}
	return tx.Set(key, value)
}
