package projections

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/distinct"
)

// Usage is the read model of how much workspaces are used: who and what came on which
// day, and what apps say of themselves. Days are those of UTC.
//
//	s{workspace}\0{seq}              the space of an event that counts, and its day
//	i{workspace}\0{day}{seq}         an interaction: the time of day, and each id that counts
//	d{workspace}\0{day}{kind}{id}    how many interactions of the day have the id
//	u{workspace}\0{day}{seq}         what an app said, JSON
//	m{workspace}\0{day}              what all apps of the day come to, JSON
//
// Ids are hashes. What a day comes to is kept for reading, what each event added for
// the day on which the event is erased, and for parts of days.
type Usage struct{}

// Name implements Projection.
func (Usage) Name() string { return "usage.2" }

// Log implements Projection.
func (Usage) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (u Usage) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case activity.Interaction:
		return u.addInteraction(tx, ev, countedIDs(ev.Meta, e.Trigger.Type))
	case activity.Dropped:
		return u.drop(tx, e)
	}
	if report, ok := parseUsageReport(ev); ok {
		return u.addReport(tx, ev, report)
	}
	return nil
}

// The kinds of ids that are counted.
const (
	kindTransaction byte = 't'
	kindHTTP        byte = 'h'
	kindEvent       byte = 'e'
	kindSchedule    byte = 's'
	kindSession     byte = 'S'
	kindUser        byte = 'U'
)

// countedID is a kind and the hash of an id.
type countedID [1 + idLength]byte

const idLength = 8

// countedIDs lists what an interaction counts for.
func countedIDs(m domain.Meta, trigger string) (ids []countedID) {
	add := func(kind byte, id string) {
		if id != "" {
			sum := sha256.Sum256([]byte(id))
			ids = append(ids, countedID(append([]byte{kind}, sum[:idLength]...)))
		}
	}
	add(kindTransaction, m.CorrelationID)
	switch trigger {
	case activity.ByEndpoint:
		add(kindHTTP, m.CorrelationID)
	case activity.ByEvent:
		add(kindEvent, m.CorrelationID)
	case activity.BySchedule:
		add(kindSchedule, m.CorrelationID)
	}
	add(kindSession, m.SessionID)
	add(kindUser, m.UserID)
	return ids
}

// addInteraction adds an interaction to its day.
func (u Usage) addInteraction(tx Tx, ev domain.Recorded, ids []countedID) error {
	row := binary.BigEndian.AppendUint32(nil, uint32(ev.At.Sub(startOf(dayOf(ev.At))).Milliseconds()))
	for _, id := range ids {
		row = append(row, id[:]...)
		if err := u.changeCount(tx, ev.Stream.Scope, dayOf(ev.At), id, 1); err != nil {
			return err
		}
	}
	return u.putRow(tx, ev, 'i', row)
}

// putRow stores what an event added, in a space.
func (Usage) putRow(tx Tx, ev domain.Recorded, space byte, row []byte) error {
	day := dayOf(ev.At)
	if err := tx.Set(scopedKey('s', ev.Stream.Scope, seqKey(ev.Seq)), append([]byte{space}, dayKey(day)...)); err != nil {
		return err
	}
	return tx.Set(usageKey(space, ev.Stream.Scope, day, ev.Seq), row)
}

// changeCount adds to how many interactions of a day have an id, or takes one away.
func (Usage) changeCount(tx Tx, workspaceID string, day uint32, id countedID, by int) error {
	key := scopedKey('d', workspaceID, append(dayKey(day), id[:]...))
	value, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	n, _ := binary.Uvarint(value)
	if n += uint64(by); n == 0 {
		return tx.Delete(key)
	}
	return tx.Set(key, binary.AppendUvarint(nil, n))
}

// drop takes away what erased events added.
func (u Usage) drop(tx Tx, gone activity.Dropped) error {
	again := map[uint32]bool{}
	err := eachErased(tx, 's', gone, func(key, value []byte) error {
		if len(value) != 5 {
			return fmt.Errorf("usage: %q has no day", key)
		}
		space, day := value[0], binary.BigEndian.Uint32(value[1:])
		row := usageKey(space, gone.WorkspaceID, day, binary.BigEndian.Uint64(key[len(key)-8:]))
		if space == 'i' {
			if err := u.removeInteraction(tx, gone.WorkspaceID, day, row); err != nil {
				return err
			}
		} else {
			again[day] = true
		}
		if err := tx.Delete(row); err != nil {
			return err
		}
		return tx.Delete(key)
	})
	for day := range again {
		if err == nil {
			err = u.rebuildDay(tx, gone.WorkspaceID, day)
		}
	}
	return err
}

// removeInteraction takes an interaction away from its day.
func (u Usage) removeInteraction(tx Tx, workspaceID string, day uint32, key []byte) error {
	row, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	return eachID(row, func(id countedID) error { return u.changeCount(tx, workspaceID, day, id, -1) })
}

// eachID visits the ids of an interaction.
func eachID(row []byte, visit func(countedID) error) error {
	for row = row[min(4, len(row)):]; len(row) >= 1+idLength; row = row[1+idLength:] {
		if err := visit(countedID(row[:1+idLength])); err != nil {
			return err
		}
	}
	return nil
}

const dayLength = 24 * time.Hour

// dayOf returns the number of the day of a time.
func dayOf(at time.Time) uint32 { return uint32(max(0, at.Unix()) / int64(dayLength/time.Second)) }

// startOf returns the first moment of a day.
func startOf(day uint32) time.Time {
	return time.Unix(int64(day)*int64(dayLength/time.Second), 0).UTC()
}

func dayKey(day uint32) []byte { return binary.BigEndian.AppendUint32(nil, day) }

func usageKey(space byte, workspaceID string, day uint32, seq uint64) []byte {
	return scopedKey(space, workspaceID, append(dayKey(day), seqKey(seq)...))
}

// maxExactIDs is up to how many ids of a kind are told apart one by one. Beyond, they
// are counted about, within a fixed amount of memory.
const maxExactIDs = 1 << 20

// idCount counts different ids. The nil idCount has none.
type idCount struct {
	ids    []uint64 // some of them several times
	sketch *distinct.Sketch
}

func (n *idCount) add(id uint64) {
	if n.sketch != nil {
		n.sketch.Add(id)
		return
	}
	if n.ids = append(n.ids, id); len(n.ids) < 2*maxExactIDs {
		return
	}
	if n.compact(); len(n.ids) <= maxExactIDs {
		return
	}
	n.sketch = &distinct.Sketch{}
	for _, id := range n.ids {
		n.sketch.Add(id)
	}
	n.ids = nil
}

// compact leaves each id once.
func (n *idCount) compact() {
	slices.Sort(n.ids)
	n.ids = slices.Compact(n.ids)
}

// total returns how many different ids there are.
func (n *idCount) total() int {
	switch {
	case n == nil:
		return 0
	case n.sketch != nil:
		return n.sketch.Count()
	}
	n.compact()
	return len(n.ids)
}

// usageReport is what an app said of itself in one event.
type usageReport struct {
	At       time.Time         `json:"at"`
	App      string            `json:"app"`
	Instance string            `json:"instance"`
	Metrics  map[string]metric `json:"metrics"`
}

type metric struct {
	Value  float64 `json:"value"`
	Action string  `json:"action"` // set or increment
}

// parseUsageReport returns what an event says of the app instance that emitted it: {instance}.usage
// does, and usage. What anybody else emits under such a name says nothing.
func parseUsageReport(ev domain.Recorded) (usageReport, bool) {
	kind, instance := ev.Data.EventType(), ev.Meta.AppInstance
	if _, void := ev.Data.(domain.Void); void || instance == "" || kind != "usage" && kind != instance+".usage" {
		return usageReport{}, false
	}
	s := usageReport{At: ev.At.UTC(), App: cmp.Or(ev.Meta.AppSlug, instance), Instance: instance, Metrics: map[string]metric{}}
	var body struct{ Metrics map[string]json.RawMessage }
	if json.Unmarshal(ev.Body, &body) != nil {
		return usageReport{}, false // an event of this name that is about something else
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
		return addFinite(*m.Set, m.Added)
	}
	return m.Added
}

// addFinite adds, but for a sum that no number can hold.
func addFinite(a, b float64) float64 {
	if sum := a + b; !math.IsInf(sum, 0) {
		return sum
	}
	return a
}

// merge returns what a metric comes to when another stretch of time follows.
func (m gauge) merge(next gauge) gauge {
	if next.Set != nil {
		return next
	}
	m.Added = addFinite(m.Added, next.Added)
	return m
}

// gauges are the metrics of app instances, by app, instance and name.
type gauges map[string]map[string]map[string]gauge

func (all gauges) merge(app, instance, name string, next gauge) {
	if all[app] == nil {
		all[app] = map[string]map[string]gauge{}
	}
	if all[app][instance] == nil {
		all[app][instance] = map[string]gauge{}
	}
	all[app][instance][name] = all[app][instance][name].merge(next)
}

func (all gauges) add(s usageReport) {
	for name, m := range s.Metrics {
		next := gauge{Added: m.Value}
		if m.Action == "set" {
			next = gauge{Set: &m.Value}
		}
		all.merge(s.App, s.Instance, name, next)
	}
}

func (all gauges) addAll(others gauges) {
	for app, instances := range others {
		for instance, metrics := range instances {
			for name, m := range metrics {
				all.merge(app, instance, name, m)
			}
		}
	}
}

// maxGauges bounds what is kept of the metrics of one day, in bytes. A day with more
// of them is read from what each event said.
const maxGauges = 16 << 10

// gaugesOmitted is what is kept of such a day.
const gaugesOmitted = "null"

// addReport adds what an app said to its day.
func (u Usage) addReport(tx Tx, ev domain.Recorded, s usageReport) error {
	row, err := json.Marshal(s)
	if err != nil {
		return err
	}
	key := scopedKey('m', ev.Stream.Scope, dayKey(dayOf(ev.At)))
	value, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	if value, err = addToDay(value, s); err != nil {
		return err
	}
	if err := tx.Set(key, value); err != nil {
		return err
	}
	return u.putRow(tx, ev, 'u', row)
}

// addToDay returns what is kept of a day when an app has said something more.
func addToDay(value []byte, s usageReport) ([]byte, error) {
	if string(value) == gaugesOmitted {
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
		return []byte(gaugesOmitted), err
	}
	return value, err
}

// rebuildDay makes anew what is kept of a day, out of what is left of it: numbers that
// were added cannot be taken away again without a trace.
func (Usage) rebuildDay(tx Tx, workspaceID string, day uint32) error {
	var value []byte
	err := tx.Iterate(Span{Prefix: scopedKey('u', workspaceID, dayKey(day))}, func(_, row []byte) (bool, error) {
		var s usageReport
		err := json.Unmarshal(row, &s)
		if err == nil {
			value, err = addToDay(value, s)
		}
		return err == nil && string(value) != gaugesOmitted, err
	})
	if err != nil {
		return err
	}
	key := scopedKey('m', workspaceID, dayKey(day))
	if value == nil {
		return tx.Delete(key)
	}
	return tx.Set(key, value)
}

// UsageTotal is how many different ones there were.
type UsageTotal struct {
	Transactions         int `json:"transactions"`
	HTTPTransactions     int `json:"httpTransactions"`
	EventTransactions    int `json:"eventTransactions"`
	ScheduleTransactions int `json:"scheduleTransactions"`
	Sessions             int `json:"sessions"`
	Users                int `json:"users"`
}

// CustomUsage is what apps say of themselves, by metric.
type CustomUsage struct {
	Custom map[string]float64 `json:"custom"`
}

// AppUsage is what the instances of an app come to.
type AppUsage struct {
	Slug      string          `json:"slug"`
	Total     CustomUsage     `json:"total"`
	Instances []InstanceUsage `json:"appInstances,omitempty"`
}

// InstanceUsage is one of them.
type InstanceUsage struct {
	Slug  string      `json:"slug"`
	Total CustomUsage `json:"total"`
}

// Sum returns the usage of a workspace from a time on, up to another.
func (u Usage) Sum(r Reader, workspaceID string, from, to time.Time) (UsageTotal, []AppUsage, error) {
	s := usageSum{usage: u, r: r, workspaceID: workspaceID, ids: map[byte]*idCount{}, gauges: gauges{}}
	first, last := dayOf(from), dayOf(to)
	var err error
	if from.After(startOf(first)) {
		err = s.addPart(first, from, to)
		first++
	}
	if err == nil && first < last {
		err = s.addWholeDays(first, last)
	}
	if err == nil && first <= last && to.After(startOf(last)) {
		err = s.addPart(last, from, to)
	}
	return s.total(), s.apps(), err
}

// usageSum is a sum that is being made, in the order of time.
type usageSum struct {
	usage       Usage
	r           Reader
	workspaceID string
	ids         map[byte]*idCount // by kind
	gauges      gauges
}

func (s *usageSum) addID(id countedID) error {
	n := s.ids[id[0]]
	if n == nil {
		n = &idCount{}
		s.ids[id[0]] = n
	}
	n.add(binary.BigEndian.Uint64(id[1:]))
	return nil
}

// addWholeDays adds the days from first on, without last.
func (s *usageSum) addWholeDays(first, last uint32) error {
	err := s.iterateDays('d', first, last, true, func(_ uint32, rest, _ []byte) error { return s.addID(countedID(rest)) })
	if err != nil {
		return err
	}
	type ofDay struct {
		day   uint32
		value []byte
	}
	var all []ofDay
	err = s.iterateDays('m', first, last, false, func(day uint32, _, value []byte) error {
		all = append(all, ofDay{day, slices.Clone(value)})
		return nil
	})
	for _, day := range all {
		if err != nil {
			break
		}
		if string(day.value) == gaugesOmitted {
			err = s.addReports(day.day, startOf(day.day), startOf(day.day+1))
			continue
		}
		var sums gauges
		err = json.Unmarshal(day.value, &sums)
		s.gauges.addAll(sums)
	}
	return err
}

// iterateDays visits the keys of a space that are of days from first on, without last; rest
// is what follows the day.
func (s *usageSum) iterateDays(space byte, first, last uint32, keysOnly bool, visit func(day uint32, rest, value []byte) error) error {
	prefix := scopedKey(space, s.workspaceID, nil)
	span := Span{Prefix: prefix, From: scopedKey(space, s.workspaceID, dayKey(first)), KeysOnly: keysOnly}
	return s.r.Iterate(s.usage, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		day := binary.BigEndian.Uint32(rest)
		if day >= last {
			return false, nil
		}
		err := visit(day, rest[4:], value)
		return err == nil, err
	})
}

// addPart adds what happened on a day from a time on, up to another.
func (s *usageSum) addPart(day uint32, from, to time.Time) error {
	err := s.iterateDays('i', day, day+1, false, func(_ uint32, _, row []byte) error {
		at := startOf(day).Add(time.Duration(binary.BigEndian.Uint32(row)) * time.Millisecond)
		if at.Before(from) || !at.Before(to) {
			return nil
		}
		return eachID(row, s.addID)
	})
	if err != nil {
		return err
	}
	return s.addReports(day, from, to)
}

// addReports adds what apps said on a day from a time on, up to another.
func (s *usageSum) addReports(day uint32, from, to time.Time) error {
	return s.iterateDays('u', day, day+1, false, func(_ uint32, _, row []byte) error {
		var one usageReport
		if err := json.Unmarshal(row, &one); err != nil {
			return err
		}
		if at := one.At.Truncate(time.Millisecond); !at.Before(from) && at.Before(to) {
			s.gauges.add(one)
		}
		return nil
	})
}

// total counts the ids.
func (s *usageSum) total() UsageTotal {
	different := func(kind byte) int { return s.ids[kind].total() }
	return UsageTotal{
		Transactions: different(kindTransaction), HTTPTransactions: different(kindHTTP), EventTransactions: different(kindEvent),
		ScheduleTransactions: different(kindSchedule), Sessions: different(kindSession), Users: different(kindUser),
	}
}

// apps lists what the metrics come to.
func (s *usageSum) apps() []AppUsage {
	list := []AppUsage{}
	for _, slug := range slices.Sorted(maps.Keys(s.gauges)) {
		app := AppUsage{Slug: slug, Total: CustomUsage{map[string]float64{}}}
		for _, name := range slices.Sorted(maps.Keys(s.gauges[slug])) {
			instance := InstanceUsage{Slug: name, Total: CustomUsage{map[string]float64{}}}
			for metric, m := range s.gauges[slug][name] {
				instance.Total.Custom[metric] = m.value()
				app.Total.Custom[metric] = addFinite(app.Total.Custom[metric], m.value())
			}
			app.Instances = append(app.Instances, instance)
		}
		list = append(list, app)
	}
	return list
}
